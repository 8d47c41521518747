from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any

import dgl
import dgl.nn
import pytest
import torch
from torch.nn import functional

from orchestrator import DataFolders, Machine, Node
from orchestrator.measurement.run import Context, Run, TrialStopped
from orchestrator.space.configs import canonical, values_of
from tests.conftest import ROOT, RunCli
from tests.trainables.running import (
    ON_TWO_GPUS,
    Reports,
    batches_seen,
    context,
    operations,
    train_once,
)
from trainables.data.formats.graph_store import GraphStore
from trainables.data.sets.ogbn_products import OgbnProducts
from trainables.data.sets.products_synthetic import PRODUCTS_SYNTHETIC
from trainables.graph.components import in_largest_component
from trainables.graph.minibatch import FetchMinibatch, Minibatch, Rows, Summed
from trainables.graph.slots import Slots
from trainables.graphsage import GraphSage, SageConfig, SageLayer, graphsage
from trainables.loading import Draw

TINY = PRODUCTS_SYNTHETIC.at("0.002")
"""4,898 nodes, 490 of them to train on."""
QUICK = SageConfig(batch_size=100, fanouts=(4, 5), hidden=16, lr=0.01, threads=1)
"""Five steps an epoch of TINY."""


def machine(gpus: int = 0) -> Machine:
    return Machine(nodes=(Node(name="here", cpus=2, gpus=gpus),))


def quick(**knobs: object) -> SageConfig:
    values: dict[str, Any] = {**values_of(QUICK), **knobs}
    return SageConfig(**values)


# -- the network


@pytest.mark.parametrize("aggregator", ["mean", "gcn", "pool"])
@pytest.mark.parametrize(("width", "out"), [(20, 7), (7, 20)])
def test_a_layer_is_dgl_s_own_with_gradients(aggregator: Any, width: int, out: int) -> None:  # noqa: ANN401
    from tests.trainables.graph.graphs import random_block

    block, adjacency = random_block()
    ours = SageLayer(width, out, aggregator)
    theirs = same_weights(ours, dgl.nn.SAGEConv(width, out, aggregator))
    x = torch.randn(300, width, requires_grad=True)
    other = x.detach().clone().requires_grad_()
    found, expected = ours(Rows(x, adjacency)), theirs(block, other)
    upstream = torch.randn_like(found)
    found.backward(upstream)
    expected.backward(upstream)
    close(found, expected)
    close(x.grad, other.grad)
    close(ours.neighbours.weight.grad, theirs.fc_neigh.weight.grad)


def same_weights(ours: SageLayer, theirs: Any) -> Any:  # noqa: ANN401 - DGL has no types
    with torch.no_grad():
        theirs.fc_neigh.weight.copy_(ours.neighbours.weight)
        if ours.own is not None:
            theirs.fc_self.weight.copy_(ours.own.weight)
            theirs.fc_self.bias.copy_(ours.bias)
        if ours.pool is not None:
            theirs.fc_pool.weight.copy_(ours.pool.weight)
            theirs.fc_pool.bias.copy_(ours.pool.bias)
    return theirs


def close(one: torch.Tensor | None, other: torch.Tensor | None) -> None:
    torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-5)


def test_sums_taken_in_the_loader_are_the_first_layer_s() -> None:
    from tests.trainables.graph.graphs import random_block
    from trainables.graph.messages import neighbour_mean

    _, adjacency = random_block()
    layer, x = SageLayer(20, 7, "mean"), torch.randn(300, 20)
    close(layer(Summed(x[:100], neighbour_mean(x, adjacency))), layer(Rows(x, adjacency)))


# -- what it learns


@pytest.mark.slow
def test_it_learns_amazon_photo(photo: OgbnProducts) -> None:
    config = SageConfig(batch_size=500, fanouts=(5, 10), lr=5e-3, eval_every=99, threads=1)
    reports = train_once(graphsage, config, context(photo, epochs=15, evaluate_test=True))
    assert reports.metric("val_acc")[-1] > 0.9
    [test_acc] = reports.metric("test_acc")
    assert test_acc > 0.91


@pytest.mark.parametrize(
    "knobs",
    [
        {"aggregator": "gcn"},
        {"aggregator": "pool"},
        {"sampler": "labor"},
        {"replace": False},
        {"fanouts": (-1, 5)},
        {"fanouts": (3, 4, 5)},
        {"amp": "bf16"},
        {"graph_scope": "largest_component"},
        {"drop_last": True},
    ],
    ids=str,
)
def test_every_way_of_learning_learns(knobs: dict[str, Any]) -> None:
    reports = train_once(graphsage, quick(**knobs), context(TINY, epochs=12))
    losses = reports.metric("train_loss")
    assert losses[-1] < 0.75 * losses[0]
    assert reports.metric("val_acc")[-1] > 0.2  # the largest class is a tenth


def test_full_mode_learns_and_reports_kteps() -> None:
    config = canonical(quick(mode="full"))
    reports = train_once(graphsage, config, context(TINY, epochs=30))
    losses = reports.metric("train_loss")
    assert losses[-1] < 0.5 * losses[0]
    store = store_of(TINY)
    last = reports.kept[-1].metrics
    # Thousands of edges over the time of each epoch; epoch_s is the median of all.
    kteps = median(reports.metric("kteps"))
    assert kteps == pytest.approx(store.num_edges / last["epoch_s"] / 1000, rel=0.2)
    assert reports.kept[-1].samples == 30 * len(store.train)


def test_sampled_mode_has_no_kteps() -> None:
    assert train_once(graphsage, QUICK, context(TINY)).metric("kteps") == []


def store_of(data: Any) -> GraphStore:  # noqa: ANN401 - any data set
    return GraphStore.open(data.prepare(DataFolders.default(Path("nowhere"))).path)


def test_the_seed_decides_what_is_learned() -> None:
    def losses(seed: int) -> list[float]:
        return train_once(graphsage, QUICK, context(TINY, seed=seed)).metric("train_loss")

    assert losses(1) == losses(1) != losses(2)


def test_training_that_diverges_says_since_which_step() -> None:
    with pytest.raises(FloatingPointError, match=r"loss is not finite since step \d+ of \d+"):
        train_once(graphsage, quick(lr=1e30), context(TINY, epochs=3))


# -- the way of training is DGL's, step by step


def test_full_mode_is_dgl_s_network_on_the_whole_graph() -> None:
    """One epoch's loss, and the next one's: so the gradients agree too."""
    config = canonical(quick(mode="full", dropout=0.0, lr=0.05))
    losses = train_once(graphsage, config, context(TINY, epochs=3)).metric("train_loss")

    store = store_of(TINY)
    graph, block = store.tensors(), store.dgl_graph()
    torch.manual_seed(0)
    ours = GraphSage(config, store.num_features, store.num_classes)
    layers = torch.nn.ModuleList(
        same_weights(
            layer, dgl.nn.SAGEConv(layer.neighbours.in_features, layer.out_features, "mean")
        )
        for layer in ours.stack()
    )
    optimizer = torch.optim.Adam(layers.parameters(), 0.05)
    expected = []
    for _ in range(3):
        h = functional.relu(layers[0](block, graph.features))
        scores = layers[1](block, h)[graph.train]
        loss = functional.cross_entropy(scores, graph.labels[graph.train])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        expected.append(loss.item())
    assert losses == pytest.approx(expected, rel=1e-3)


def test_with_all_neighbours_a_batch_is_the_whole_graph_s() -> None:
    """Sampling everything, in one batch, is full mode."""
    knobs = {"dropout": 0.0, "batch_size": 490, "fanouts": (-1, -1)}
    sampled = train_once(graphsage, quick(**knobs), context(TINY, epochs=3)).metric("train_loss")
    config = canonical(quick(mode="full", dropout=0.0))
    full = train_once(graphsage, config, context(TINY, epochs=3)).metric("train_loss")
    assert sampled == pytest.approx(full, rel=1e-3)


# -- systems knobs change nothing that is learned


@pytest.mark.parametrize(
    "knobs",
    [
        {"num_workers": 1},
        {"num_workers": 2, "prefetch_factor": 4, "persistent_workers": True},
        {"threads": 2},
        {"prefetch": "thread"},
        {"prefetch": "thread", "num_workers": 2},
        {"feature_placement": "host"},
        {"log_every": 3},
        {"eval_every": 7},
    ],
    ids=str,
)
@pytest.mark.parametrize("sampler", ["neighbour", "labor"])
def test_a_systems_knob_changes_nothing_that_is_learned(
    knobs: dict[str, Any], sampler: str
) -> None:
    where = context(TINY, epochs=4, steps=20)
    expected = train_once(graphsage, quick(sampler=sampler), where)
    found = train_once(graphsage, quick(sampler=sampler, **knobs), where)
    assert found.metric("train_loss") == pytest.approx(expected.metric("train_loss"), rel=1e-5)
    assert found.metric("val_acc")[-1] == expected.metric("val_acc")[-1]


@pytest.mark.parametrize(
    "device",
    [
        pytest.param("cpu", marks=pytest.mark.slow),
        pytest.param("cuda", marks=ON_TWO_GPUS),
    ],
)
def test_on_its_own_with_ranks_it_learns_what_one_process_learns(
    device: str, run_cli: RunCli
) -> None:
    # 123 divides neither by the ranks nor the 490 training nodes.
    arguments = (
        "--data products-synthetic@0.002 --epochs 4 --steps 20 --test --ranks 2 --dropout 0"
        " --batch-size 123 --fanouts 4,5 --hidden 16 --lr 0.01 --threads 1 --num-workers 1"
    )
    finished = run_cli(*arguments.split(), "--device", device, module="trainables.graphsage")
    assert finished.returncode == 0, finished.stdout + finished.stderr
    lines = (line.split() for line in finished.stdout.splitlines())
    figures = {line[0]: line[1] for line in lines if len(line) > 1}
    alone = train_once(
        graphsage,
        quick(dropout=0.0, batch_size=123),
        context(TINY, epochs=4, steps=20, evaluate_test=True),
    )
    assert float(figures["steps"]) == alone.kept[-1].metrics["steps"] == 16
    for name, tolerance in {"train_loss": 1e-3, "val_acc": 0.01, "test_acc": 0.01}.items():
        assert float(figures[name]) == pytest.approx(alone.metric(name)[-1], abs=tolerance)


# -- knobs whose effect can be seen


def seen_by(config: SageConfig, where: Context | None = None) -> list[Minibatch]:
    """The batches of one epoch, or of those of ``where``."""
    return batches_seen(graphsage, config, where or context(TINY))


def test_every_epoch_trains_on_every_node_once() -> None:
    seen = seen_by(QUICK, context(TINY, epochs=2))
    assert [len(batch.labels) for batch in seen] == [100, 100, 100, 100, 90] * 2
    for epoch in (seen[:5], seen[5:]):
        labels = torch.cat([batch.labels for batch in epoch])
        store = store_of(TINY)
        assert sorted(labels.tolist()) == sorted(store.labels[store.train].tolist())
    assert not torch.equal(seen[0].labels, seen[5].labels)


def test_drop_last_leaves_out_the_smaller_batch() -> None:
    assert [len(batch.labels) for batch in seen_by(quick(drop_last=True))] == [100] * 4


def test_fanouts_are_those_of_the_blocks() -> None:
    [block] = seen_by(quick(fanouts=(4, 5)))[0].blocks
    assert block.num_edges == 500
    assert seen_by(quick(fanouts=(4,)))[0].blocks == ()


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
    """This process's mapping that an address lies in: addresses, mode, offset, device, inode."""
    for line in Path("/proc/self/maps").read_text().splitlines():
        fields = line.split()
        begin, end = (int(part, 16) for part in fields[0].split("-"))
        if begin <= address < end:
            return fields
    raise AssertionError("not mapped at all")


def is_shared(address: int) -> bool:
    """Whether an address of this process lies in a shared mapping."""
    return mapping_of(address)[1].endswith("s")


def is_of_a_file(address: int) -> bool:
    """Whether an address of this process lies in the mapping of a file."""
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


def test_the_largest_component_s_nodes_alone_are_trained_on(photo: OgbnProducts) -> None:
    def trained_on(graph_scope: str) -> list[int]:
        seen = seen_by(quick(graph_scope=graph_scope), context(photo))
        return sorted(torch.cat([batch.labels for batch in seen]).tolist())

    store = store_of(photo)
    inside = in_largest_component(store.indptr, store.indices)[store.train]
    assert inside.sum() < len(store.train)
    assert trained_on("all") == sorted(store.labels[store.train])
    assert trained_on("largest_component") == sorted(store.labels[store.train[inside]])


@pytest.mark.parametrize("copies", ["once", "twice"])
def test_full_mode_keeps_one_copy_of_the_graph(copies: str) -> None:
    """Peak private memory of an epoch, against what a second format would take."""
    finished = subprocess.run(
        [sys.executable, "-c", ONE_COPY, copies],
        env={**os.environ, "PYTHONPATH": str(ROOT), "DGLBACKEND": "pytorch"},
        capture_output=True,
        text=True,
        check=True,
    )
    grown, of_edges = map(float, finished.stdout.split()[-2:])
    assert (grown < 0.5 * of_edges) == (copies == "once"), "a copy that is kept shows"


ONE_COPY = """
import re, sys
from pathlib import Path
import numpy as np, torch
from trainables.data.formats.graph_store import GraphStore
from trainables.graph.whole import WholeGraph
from trainables.graph.slots import Slots
from trainables.graphsage import GraphSage, SageConfig
from types import SimpleNamespace

num_nodes, degree = 10_000, 1_000
# Every node hears the next thousand and the thousand before: 20 M edges, 160 MB.
offsets = np.concatenate([np.arange(-degree, 0), np.arange(1, degree + 1)])
indices = ((np.arange(num_nodes)[:, None] + offsets) % num_nodes).ravel()
indptr = np.arange(0, len(indices) + 1, len(offsets))
tensors = SimpleNamespace(
    indptr=torch.from_numpy(indptr), indices=torch.from_numpy(indices),
    features=torch.randn(num_nodes, 32), labels=torch.randint(0, 5, (num_nodes,)),
)
store = SimpleNamespace(tensors=lambda: tensors)
config = SageConfig(mode="full", hidden=16)
network = GraphSage(config, 32, 5)
optimizer = torch.optim.Adam(network.parameters(), fused=True)

def step(store, seeds):
    whole = WholeGraph.of(store, seeds, num_layers=2, device=torch.device("cpu"))
    [batch] = whole.epoch(0)
    scores = network(batch.inputs, batch.blocks)[batch.seeds]
    torch.nn.functional.cross_entropy(scores, batch.labels).backward()
    optimizer.step()

# The same with one edge in 200 first, so that whatever is made once is made.
few = SimpleNamespace(**vars(tensors))
few.indptr, few.indices = tensors.indptr // 200, tensors.indices[::200].contiguous()
step(SimpleNamespace(tensors=lambda: few), np.arange(100))

def peak_bytes():
    # Not getrusage: that begins with the peak of the process which started this one.
    [peak] = re.findall(r"VmHWM:\\s+(\\d+) kB", Path("/proc/self/status").read_text())
    return int(peak) * 1024

before = peak_bytes()
kept = [tensors.indices.clone()] if sys.argv[1] == "twice" else []
step(store, np.arange(100))
print(peak_bytes() - before, indices.nbytes)
"""


# -- when it is evaluated, stopped and restored


def test_test_accuracy_is_kept_back_unless_it_is_asked_for_and_then_given_once() -> None:
    assert train_once(graphsage, QUICK, context(TINY, epochs=2)).metric("test_acc") == []
    asked = train_once(graphsage, QUICK, context(TINY, epochs=3, evaluate_test=True))
    assert ["test_acc" in report.metrics for report in asked.kept] == [False, False, True]


def test_a_trial_that_is_stopped_leaves_after_its_report() -> None:
    reports = Reports(stop_after=2)
    with pytest.raises(TrialStopped):
        train_once(graphsage, quick(num_workers=2), context(TINY, epochs=9), reports=reports)
    assert len(reports.kept) == 2


def test_a_restored_run_goes_on_as_if_nothing_had_happened(tmp_path: Path) -> None:
    whole = train_once(graphsage, QUICK, context(TINY, epochs=3))
    train_once(graphsage, QUICK, context(TINY, epochs=2, checkpoint_dir=tmp_path))
    rest = train_once(graphsage, QUICK, context(TINY, epochs=3, checkpoint_dir=tmp_path))
    assert [report.epoch for report in rest.kept] == [3]
    for name in ("train_loss", "val_acc"):
        assert rest.metric(name) == whole.metric(name)[-1:]


# -- what a config means, and what cannot run


def test_what_full_mode_has_no_use_for_makes_no_other_trial() -> None:
    busy = quick(
        mode="full",
        num_workers=3,
        batch_size=7,
        fanouts=(1, 2, 3),
        sampler="labor",
        drop_last=True,
        prefetch="thread",
        feature_placement="host",
    )
    assert canonical(busy) == canonical(quick(mode="full"))


def test_layers_are_those_of_full_mode_and_fanouts_those_of_sampled_mode() -> None:
    assert canonical(quick(layers=5)) == QUICK
    assert SageConfig(fanouts=(1, 2, 3)).num_layers == 3
    assert SageConfig(mode="full", layers=4).num_layers == 4


def test_labor_draws_without_replacement() -> None:
    assert canonical(quick(sampler="labor", replace=False)) == canonical(quick(sampler="labor"))


@pytest.mark.parametrize(
    ("knobs", "gpus", "reason"),
    [
        ({"device": "cuda"}, 0, "needs 1 GPU, the largest node has 0"),
        ({"ranks": 2, "device": "cuda"}, 1, "needs 2 GPUs, the largest node has 1"),
        ({"mode": "full", "ranks": 2}, 0, "mode=full has one batch"),
        ({"feature_placement": "pinned"}, 0, "feature_placement=pinned needs a GPU"),
        ({"feature_placement": "device"}, 0, "feature_placement=device needs a GPU"),
        ({"feature_placement": "device"}, 1, None),
        ({"amp": "fp16"}, 0, "amp=fp16 needs a GPU"),
        ({"pin_memory": True}, 0, "pin_memory=True needs a GPU"),
        ({"prefetch": "stream"}, 0, "prefetch=stream needs a GPU"),
        ({"prefetch": "stream"}, 1, "prefetch=stream needs pin_memory=True"),
        ({"prefetch": "stream", "pin_memory": True}, 1, None),
        ({"prefetch": "thread", "num_workers": 8}, 0, None),
    ],
    ids=str,
)
def test_what_cannot_run_says_why(knobs: dict[str, Any], gpus: int, reason: str | None) -> None:
    found = graphsage.infeasible(SageConfig(**knobs), machine(gpus))
    assert found is None if reason is None else found is not None and reason in found


# -- on a GPU


@pytest.mark.gpu
@pytest.mark.parametrize(
    "knobs",
    [
        {},
        {"num_workers": 2},
        {"num_workers": 2, "pin_memory": True, "non_blocking": True},
        {"pin_memory": True, "prefetch": "stream"},
        {"num_workers": 2, "pin_memory": True, "prefetch": "stream", "persistent_workers": True},
        {"prefetch": "thread"},
        {"feature_placement": "host"},
        {"feature_placement": "pinned"},
        {"feature_placement": "device"},
        {"feature_placement": "device", "num_workers": 2},
        {"aggregator": "gcn", "feature_placement": "device"},
        {"aggregator": "pool"},
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
@pytest.mark.parametrize("amp", ["bf16", "fp16"])
def test_mixed_precision_learns_on_a_gpu(amp: str) -> None:
    reports = train_once(
        graphsage, quick(amp=amp, device="cuda"), context(TINY, epochs=12, device="cuda:0")
    )
    losses = reports.metric("train_loss")
    assert losses[-1] < 0.75 * losses[0]


@pytest.mark.gpu
def test_features_in_page_locked_memory_are_read_by_the_gpu_from_there() -> None:
    from trainables.graph.placement import placed

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


@pytest.mark.gpu
def test_on_the_device_a_batch_carries_ids_only() -> None:
    from trainables.graph.minibatch import Named

    [first, *_] = seen_by(
        quick(device="cuda", feature_placement="device"), context(TINY, device="cuda:0")
    )
    assert isinstance(first.inputs, Named)
    assert not first.inputs.nodes.is_cuda  # when it arrives; the step moves it
