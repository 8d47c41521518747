"""Batches of graphsage: what is drawn, how it arrives, and the memory that it takes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from multiprocessing.context import ForkServerContext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import dgl
import numpy as np
import pytest
import torch

from orchestrator.measurement.run import Run
from orchestrator.space.configs import canonical
from tests.trainables.graphsage_runs import QUICK, TINY, quick, seen_by, store_of
from tests.trainables.running import (
    context,
    operations,
    train_once,
)
from trainables.data.formats.graph_store import GraphTensors
from trainables.data.sets.ogbn_products import OgbGraph
from trainables.data.sets.products_synthetic import PRODUCTS_SYNTHETIC
from trainables.graph.components import in_largest_component
from trainables.graph.drawing import Ids
from trainables.graph.minibatch import FetchMinibatch, Minibatch
from trainables.graph.sampling import NeighbourSampler, Sample
from trainables.graph.slots import Slots
from trainables.graph.whole import WholeGraph
from trainables.graphsage import GraphSage, SageConfig, graphsage
from trainables.loading import Draw


def test_every_epoch_trains_on_every_node_once() -> None:
    seen = seen_by(QUICK, context(TINY, epochs=2))
    assert [len(batch.labels) for batch in seen] == [100, 100, 100, 100, 90] * 2
    for epoch in (seen[:5], seen[5:]):
        labels = torch.cat([batch.labels for batch in epoch])
        store = store_of(TINY)
        assert sorted(labels.tolist()) == sorted(store.labels[store.train].tolist())
    assert not torch.equal(seen[0].labels, seen[5].labels)


def test_fanouts_are_those_of_the_blocks() -> None:
    [block] = seen_by(quick(fanouts=(4, 5)))[0].blocks
    assert block.num_edges == 500
    assert seen_by(quick(fanouts=(4,)))[0].blocks == ()


@pytest.mark.parametrize("data", ["generated", "photo"])
def test_layers_are_as_large_as_those_of_the_study(
    data: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its seeds drew 10 neighbours each, and whatever these were 25 each."""
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


def test_without_replacement_no_neighbour_is_heard_twice() -> None:
    def repeated(replace: bool) -> bool:
        [block] = seen_by(quick(fanouts=(4, 9), replace=replace))[0].blocks
        targets = torch.repeat_interleave(torch.arange(100), block.degrees())
        pairs = torch.stack([targets, block.indices.long()])
        return bool(torch.unique(pairs, dim=1).shape[1] < pairs.shape[1])

    assert repeated(True)
    assert not repeated(False)


def test_workers_are_processes_and_hand_batches_over_in_shared_memory() -> None:
    import psutil

    children: set[int] = set()
    in_shared_memory: set[bool] = set()

    class Watching(Run):
        def batches(self, loader: Any, *, samples: Any) -> Iterator[Any]:  # noqa: ANN401
            for arriving in super().batches(loader, samples=samples):
                children.update(child.pid for child in psutil.Process().children())
                heard = arriving.batch.inputs[1]
                assert isinstance(heard, torch.Tensor)
                in_shared_memory.add(is_shared(heard.data_ptr()))
                yield arriving

    before = {child.pid for child in psutil.Process().children()}
    train_once(graphsage, quick(num_workers=2), context(TINY), make_run=Watching)
    assert len(children - before) == 2
    assert in_shared_memory == {True}


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


def is_shared(address: int) -> bool:
    """Return True if an address of this process lies in a shared mapping."""
    return mapping_of(address)[1].endswith("s")


def is_of_a_file(address: int) -> bool:
    """Return True if an address of this process lies in the mapping of a file."""
    return mapping_of(address)[4] != "0"


def test_placed_on_the_host_features_are_a_copy_of_the_file_s(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tables: list[torch.Tensor] = []
    batch_of = FetchMinibatch.__call__

    def noted(self: FetchMinibatch, draw: Draw) -> Minibatch:
        tables.append(self.table.features)
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


def test_full_mode_keeps_one_copy_of_the_graph(fork_server: ForkServerContext) -> None:
    """Peak memory of an epoch, against what a second format would take."""
    with ProcessPoolExecutor(1, mp_context=fork_server) as pool:
        grown, grown_by_a_copy, of_edges = pool.submit(bytes_of_an_epoch).result()
    assert grown < 0.5 * of_edges
    assert grown_by_a_copy > 0.5 * of_edges, "a copy that is kept shows"


def bytes_of_an_epoch() -> tuple[int, int, int]:
    """Growth of the peak memory by an epoch, and by one beside a copy; bytes of the edges."""
    num_nodes, degree = 10_000, 500
    # Every node hears the next ones and those before: 10 M edges, 80 MB.
    offsets = np.concatenate([np.arange(-degree, 0), np.arange(1, degree + 1)])
    indices = ((np.arange(num_nodes)[:, None] + offsets) % num_nodes).ravel()
    indptr = np.arange(0, len(indices) + 1, len(offsets))
    tensors = GraphTensors(
        indptr=torch.from_numpy(indptr),
        indices=torch.from_numpy(indices),
        features=torch.randn(num_nodes, 32),
        labels=torch.randint(0, 5, (num_nodes,)),
        train=torch.arange(100), val=torch.arange(0), test=torch.arange(0),
    )  # fmt: skip
    network = GraphSage(SageConfig(mode="full", hidden=16), 32, 5)
    optimizer = torch.optim.Adam(network.parameters(), fused=True)

    def step(graph: GraphTensors) -> int:
        """Train a step and return the peak memory so far."""
        store: Any = SimpleNamespace(tensors=lambda: graph)
        whole = WholeGraph.of(store, np.arange(100), num_layers=2, device=torch.device("cpu"))
        [batch] = whole.epoch(0)
        scores = network(batch.inputs, batch.blocks)[batch.seeds]
        torch.nn.functional.cross_entropy(scores, batch.labels).backward()
        optimizer.step()
        return peak_bytes()

    # With one edge in 200 first, so that whatever is made once is made.
    few = replace(
        tensors, indptr=tensors.indptr // 200, indices=tensors.indices[::200].contiguous()
    )
    before = step(few)
    after = step(tensors)
    copy = tensors.indices.clone()
    beside_a_copy = step(tensors)
    return after - before, beside_a_copy - after, copy.nbytes


def peak_bytes() -> int:
    """Peak memory of this process; getrusage's begins with that of its parent."""
    [peak] = re.findall(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())
    return int(peak) * 1024
