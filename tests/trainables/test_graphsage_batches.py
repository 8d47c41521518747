"""Batches of graphsage: their samples, their delivery, and their memory."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import dgl
import numpy as np
import pytest
import torch

from orchestrator import Phase
from orchestrator.space.configs import canonical
from tests.trainables.graph.graphsage_runs import TINY, quick, seen_by, store_of
from tests.trainables.running import context, operations, train_once
from trainables.data.sets.ogbn_products import OgbGraph
from trainables.data.sets.products_synthetic import PRODUCTS_SYNTHETIC
from trainables.graph.components import in_largest_component
from trainables.graph.drawing import Ids
from trainables.graph.minibatch import FetchMinibatch, Minibatch
from trainables.graph.places.features import FeatureTable
from trainables.graph.sampling import NeighbourSampler, Sample
from trainables.graph.slots import Slots
from trainables.graphsage import SageConfig, graphsage
from trainables.loading import Draw


@pytest.mark.parametrize("data", ["generated", "photo"])
def test_layers_are_as_large_as_those_of_the_study(
    data: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its seeds drew 10 neighbours each, and each of these 25."""
    found = request.getfixturevalue("photo") if data == "photo" else PRODUCTS_SYNTHETIC.at("0.02")
    ours: list[list[int]] = []
    study: list[list[int]] = []
    graph = store_of(found).dgl_graph()
    sample_of = NeighbourSampler.sample

    def noted(self: NeighbourSampler, seeds: Ids, *keys: int) -> Sample:
        sample = sample_of(self, seeds, *keys)
        ours.append(sizes_of(sample))
        study.append(sizes_in_the_study(graph, torch.from_numpy(seeds)))
        return sample

    monkeypatch.setattr(NeighbourSampler, "sample", noted)
    config = SageConfig(batch_size=100, hidden=16, eval_every=99, threads=1)
    train_once(graphsage, config, context(found, steps=20))
    assert len(ours) >= 5
    assert np.mean(ours, axis=0) == pytest.approx(np.mean(study, axis=0), rel=0.02)


def sizes_of(sample: Sample) -> list[int]:
    """Return targets and edges of the last layer, and of the first."""
    [last] = sample.blocks
    return [last.num_targets, last.num_edges, len(sample.targets), len(sample.drawn.ids)]


def sizes_in_the_study(graph: Any, nodes: torch.Tensor) -> list[int]:  # noqa: ANN401
    """Return the same of blocks that are sampled as DGL's example did in 2020."""
    sizes = []
    for fanout in (10, 25):
        drawn = dgl.sampling.sample_neighbors(graph, nodes, fanout, replace=True)
        block = dgl.to_block(drawn, nodes)
        sizes += [block.num_dst_nodes(), block.num_edges()]
        nodes = block.srcdata[dgl.NID]
    return sizes


@pytest.mark.parametrize("aggregator", ["mean", "gcn", "pool"])
def test_every_batch_of_a_worker_comes_through_a_slot(
    aggregator: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    received: list[int] = []
    unpacked = Slots.received

    def noted(self: Slots, slot: int, content: bytes) -> Any:  # noqa: ANN401
        received.append(slot)
        return unpacked(self, slot, content)

    monkeypatch.setattr(Slots, "received", noted)
    seen = seen_by(quick(aggregator=aggregator, num_workers=1, fanouts=(8, 5)))
    assert len(received) == len(seen) == 5


def mapping_of(address: int) -> list[str]:
    """Return the mapping of an address: addresses, mode, offset, device, inode."""
    for line in Path("/proc/self/maps").read_text().splitlines():
        fields = line.split()
        begin, end = (int(part, 16) for part in fields[0].split("-"))
        if begin <= address < end:
            return fields
    raise AssertionError("not mapped at all")


def is_of_a_file(address: int) -> bool:
    """Return True if an address of this process lies in the mapping of a file."""
    return mapping_of(address)[4] != "0"


def test_placed_on_the_host_features_are_a_copy_of_the_file_s(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tables: list[torch.Tensor] = []
    batch_of = FetchMinibatch.__call__

    def noted(self: FetchMinibatch, draw: Draw) -> Minibatch:
        tables.append(self.table.features.features)
        return batch_of(self, draw)

    monkeypatch.setattr(FetchMinibatch, "__call__", noted)
    for placement in ("memmap", "host"):
        train_once(graphsage, quick(feature_placement=placement), context(TINY, steps=1))
    mapped, copied = tables
    assert is_of_a_file(mapped.data_ptr())
    assert not is_of_a_file(copied.data_ptr())
    assert torch.equal(copied, mapped)


def test_full_mode_reads_nothing_back_within_a_step() -> None:
    steps = operations(graphsage, canonical(quick(mode="full")), context(TINY))
    assert not [name for step in steps for name, _ in step if name == "aten._local_scalar_dense"]


def test_the_largest_component_s_nodes_alone_are_trained_on(photo: OgbGraph) -> None:
    def trained_on(graph_scope: str) -> list[int]:
        seen = seen_by(quick(graph_scope=graph_scope), context(photo))
        return sorted(torch.cat([batch.labels for batch in seen]).tolist())

    store = store_of(photo)
    inside = in_largest_component(store.indptr, store.indices)[store.train]
    assert inside.sum() < len(store.train)
    assert trained_on("all") == sorted(store.labels[store.train])
    assert trained_on("largest_component") == sorted(store.labels[store.train[inside]])


@pytest.mark.gpu
@pytest.mark.parametrize(
    "knobs",
    [
        {"num_workers": 2, "pin_memory": True, "prefetch": "stream", "persistent_workers": True},
        {"feature_placement": "device", "num_workers": 2},
        {"aggregator": "gcn", "feature_placement": "device"},
        {"aggregator": "pool", "feature_placement": "device"},
    ],
    ids=str,
)
def test_a_gpu_learns_what_the_cpu_learns(knobs: dict[str, Any]) -> None:
    aggregator = knobs.get("aggregator", "mean")
    alike = {"dropout": 0.0, "aggregator": aggregator}
    here = train_once(graphsage, quick(device="cpu", **alike), context(TINY, epochs=4, steps=20))
    there = train_once(
        graphsage,
        quick(device="cuda", **{**alike, **knobs}),
        context(TINY, epochs=4, steps=20, device="cuda:0"),
    )
    assert there.metric("train_loss") == pytest.approx(here.metric("train_loss"), rel=1e-3)
    assert there.metric("val_acc")[-1] == pytest.approx(here.metric("val_acc")[-1], abs=0.01)


@pytest.mark.gpu
@pytest.mark.parametrize("aggregator", ["mean", "gcn", "pool"])
def test_full_mode_on_a_gpu_learns_what_the_cpu_learns(aggregator: str) -> None:
    config = canonical(quick(mode="full", dropout=0.0, aggregator=aggregator))
    here = train_once(graphsage, config, context(TINY, epochs=4))
    there = train_once(graphsage, config, context(TINY, epochs=4, device="cuda:0"))
    assert there.metric("train_loss") == pytest.approx(here.metric("train_loss"), rel=1e-3)


@pytest.mark.gpu
def test_features_in_page_locked_memory_are_read_by_the_gpu_from_there() -> None:
    from trainables.graph.places.placement import placed

    features = store_of(TINY).tensors().features
    cuda = torch.device("cuda:0")
    torch.cuda.synchronize()
    before = torch.cuda.memory_allocated()
    seen = placed(features, "pinned", cuda)
    assert torch.cuda.memory_allocated() - before < features.nbytes // 2
    assert seen.device.type == "cuda"
    rows = torch.randint(0, len(features), (1000,))
    assert torch.equal(torch.index_select(seen, 0, rows.to(cuda)).cpu(), features[rows])
    del seen
    assert placed(features, "device", cuda).is_cuda
    assert torch.cuda.memory_allocated() - before < features.nbytes // 2


def test_rows_that_cross_the_bus_are_a_transfer_and_not_computing() -> None:
    table = FeatureTable(features=store_of(TINY).tensors().features)
    assert table.phase is Phase.FORWARD
    assert replace(table, is_remote=True).phase is Phase.TRANSFER


@pytest.mark.gpu
def test_on_the_device_a_batch_carries_ids_only() -> None:
    from trainables.graph.minibatch import Named

    [first, *_] = seen_by(
        quick(device="cuda", feature_placement="device"), context(TINY, device="cuda:0")
    )
    assert isinstance(first.inputs, Named)
    assert not first.inputs.nodes.is_cuda  # when it arrives; the step moves it
