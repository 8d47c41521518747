from __future__ import annotations

import gc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from orchestrator import DataFolders, Machine, Node
from orchestrator.data import PreparedData
from orchestrator.errors import DataError
from orchestrator.measurement.run import Run
from orchestrator.space.configs import values_of
from tests.conftest import RunCli
from tests.leaks import children
from tests.trainables.embedding.stores import store_folder
from tests.trainables.running import ON_TWO_GPUS, Reports, context, train_once
from trainables.data.sets.ogbn_products import OgbGraph
from trainables.data.sets.products_synthetic import PRODUCTS_SYNTHETIC
from trainables.embedding import walks
from trainables.embedding.link_split import LinkSplit
from trainables.embedding.processes import shared_out
from trainables.graph.components import in_largest_component
from trainables.node_embedding import NodeEmbeddingConfig, node_embedding

TINY = PRODUCTS_SYNTHETIC.at("0.002")
"""4,898 nodes, 123,718 edges."""
QUICK = NodeEmbeddingConfig(
    batch_size=100,
    epoch_pairs=980,
    dims=16,
    neighbours=3,
    negatives=3,
    walk_length=5,
    walks_per_node=1,
    window=2,
    lr=0.05,
    threads=1,
)
"""Ten steps an epoch."""


def quick(**knobs: object) -> NodeEmbeddingConfig:
    values: dict[str, Any] = {**values_of(QUICK), **knobs}
    return NodeEmbeddingConfig(**values)


# -- what it learns


@pytest.mark.slow
@pytest.mark.parametrize("embedding", ["sparse", "dense"])
def test_it_predicts_the_links_of_amazon_photo(photo: OgbGraph, embedding: Any) -> None:  # noqa: ANN401
    config = NodeEmbeddingConfig(embedding=embedding, eval_every=99, threads=1)
    reports = train_once(node_embedding, config, context(photo, epochs=4, evaluate_test=True))
    assert reports.metric("val_auc")[-1] > 0.93
    [test_auc] = reports.metric("test_auc")
    assert test_auc > 0.93


def test_the_largest_component_s_nodes_alone_have_rows(photo: OgbGraph) -> None:
    found: dict[str, int] = {}

    class Watching(Run):
        def batches(self, loader: Any, *, samples: Any) -> Iterator[Any]:  # noqa: ANN401
            for arriving in super().batches(loader, samples=samples):
                found["most"] = max(found.get("most", 0), int(arriving.batch.contexts.max()))
                yield arriving

    config = quick(graph_scope="largest_component", epoch_pairs=10_000, batch_size=1000)
    reports = train_once(node_embedding, config, context(photo), make_run=Watching)
    folder = photo.prepare(DataFolders.default(Path("nowhere"))).path
    split = LinkSplit.of(folder, "largest_component")
    indptr, indices = (np.load(folder / f"{name}.npy") for name in ("indptr", "indices"))
    inside = int(in_largest_component(indptr, indices).sum())
    assert split.num_nodes == inside < len(indptr) - 1
    assert found["most"] < inside
    assert reports.metric("val_auc")


@pytest.mark.parametrize(
    ("embedding", "places"),
    [
        ("sparse", {"device": "cpu"}),
        pytest.param("dense", {"device": "cpu"}, marks=pytest.mark.slow),
        pytest.param("sparse", {"device": "cuda", "placement": "gpu"}, marks=ON_TWO_GPUS),  # gloo
        pytest.param("dense", {"device": "cuda", "placement": "cpu"}, marks=ON_TWO_GPUS),  # gloo
        pytest.param("dense", {"device": "cuda", "placement": "gpu"}, marks=ON_TWO_GPUS),  # nccl
    ],
)
def test_on_its_own_with_ranks_it_learns_what_one_process_learns(
    embedding: str, places: dict[str, str], run_cli: RunCli
) -> None:
    # 123 divides neither by the ranks nor the 2,461 pairs: the last batch is a single pair.
    shape = {"batch_size": 123, "epoch_pairs": 2461, "num_workers": 1}
    knobs = {"embedding": embedding, **shape, **places}
    changed = values_of(quick(**knobs)).items() - values_of(NodeEmbeddingConfig()).items()
    flags = [text for name, value in changed for text in (f"--{name.replace('_', '-')}", value)]
    finished = run_cli(
        *("--data", "products-synthetic@0.002", "--epochs", "1", "--test", "--ranks", "2"),
        *map(str, flags),
        module="trainables.node_embedding",
    )
    assert finished.returncode == 0, finished.stdout + finished.stderr
    epoch = next(line for line in finished.stdout.splitlines() if line.startswith("epoch 1,"))
    assert {"train_loss", "val_auc", "test_auc", "samples_per_s"} <= set(epoch.split())
    lines = (line.split() for line in finished.stdout.splitlines())
    figures = {line[0]: line[1] for line in lines if len(line) > 1}
    alone = train_once(
        node_embedding, quick(embedding=embedding, **shape), context(TINY, evaluate_test=True)
    )
    assert float(figures["steps"]) == alone.kept[-1].metrics["steps"] == 21
    for name, tolerance in {"train_loss": 1e-3, "val_auc": 0.01, "test_auc": 0.01}.items():
        assert float(figures[name]) == pytest.approx(alone.metric(name)[-1], abs=tolerance)


# -- systems knobs: nothing that is learned changes, and each does what it says


@pytest.mark.parametrize(
    "knobs",
    [{"num_workers": 2, "prefetch": "thread", "pair_container": "list"}, {"threads": 2}],
    ids=str,
)
def test_sparse_tables_learn_the_same_whatever_the_systems_knobs(knobs: dict[str, Any]) -> None:
    """With dense ones it is shown in test_contract.py."""
    where = context(TINY, epochs=2, steps=12)
    expected = train_once(node_embedding, QUICK, where)
    found = train_once(node_embedding, quick(**knobs), where)
    assert found.metric("train_loss") == pytest.approx(expected.metric("train_loss"), rel=1e-5)
    assert found.metric("val_auc")[-1] == pytest.approx(expected.metric("val_auc")[-1], abs=1e-3)


def test_as_many_processes_draw_the_walks_as_are_asked_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[int] = []

    def noting(work: Any, tasks: Any, num_processes: int) -> int:  # noqa: ANN401
        asked.append(num_processes)
        return shared_out(work, tasks, num_processes)

    monkeypatch.setattr(walks, "shared_out", noting)
    for seed, num_processes in ((90, 3), (91, 0)):  # seeds that no other test has walks of
        where = context(TINY, steps=1, seed=seed, num_cores=2)
        train_once(node_embedding, quick(walk_processes=num_processes), where)
    assert asked == [3, 2]


GROWING = quick(
    num_workers=1,
    persistent_workers=True,
    walk_length=10,
    walks_per_node=5,
    window=3,
    epoch_pairs=5000,
    batch_size=500,
)
"""1.2 million pairs, of which the worker reads 5,000 an epoch: a few on every page."""


def test_a_list_of_pairs_grows_in_the_workers_and_arrays_do_not() -> None:
    def growth_mib(container: str) -> float:
        config = NodeEmbeddingConfig(**{**values_of(GROWING), "pair_container": container})
        where = context(TINY, epochs=4, num_workers=1)
        reports = train_once(node_embedding, config, where, reads_memory=True)
        return reports.metric("worker_growth_mib_per_epoch")[-1]

    in_list = growth_mib("list")
    in_arrays = [growth_mib(container) for container in ("ndarray", "tensor")]
    assert in_list > 10
    assert all(growth < in_list / 4 for growth in in_arrays), (in_list, in_arrays)


def test_every_epoch_draws_so_many_pairs() -> None:
    folder = TINY.prepare(DataFolders.default(Path("nowhere"))).path
    linked = np.count_nonzero(np.diff(LinkSplit.of(folder, "all").indptr))
    # A walk of five nodes has 14 pairs at most two steps apart, both ways round.
    for epoch_pairs, expected in ((980, 980), (0, 14 * linked), (10**9, 14 * linked)):
        config = quick(epoch_pairs=epoch_pairs, batch_size=10_000)
        assert train_once(node_embedding, config, context(TINY)).kept[-1].samples == expected


def test_negatives_neighbours_and_dims_are_those_of_the_batch() -> None:
    shapes = []

    class Watching(Run):
        def batches(self, loader: Any, *, samples: Any) -> Iterator[Any]:  # noqa: ANN401
            for arriving in super().batches(loader, samples=samples):
                shapes.append([tuple(t.shape) for t in arriving.batch[:3]])
                yield arriving

    train_once(
        node_embedding,
        quick(negatives=2, neighbours=7),
        context(TINY, steps=1),
        make_run=Watching,
    )
    assert shapes == [[(100,), (100, 7), (100, 3)]]


def test_a_trial_leaves_no_process_behind() -> None:
    before = set(children())  # which other tests of this process leave to those after them
    train_once(node_embedding, quick(num_workers=2), context(TINY, seed=92, num_cores=2))
    assert set(children()) <= before


# -- what cannot run


@pytest.mark.parametrize("scope", ["all", "largest_component"])
def test_a_graph_without_edges_is_refused(scope: str, tmp_path: Path) -> None:
    folder = store_folder(tmp_path, np.empty((0, 2), dtype=np.int64), 40)

    class Bare:
        def prepare(self, _: DataFolders) -> PreparedData:
            return PreparedData(name="made", path=folder, fingerprint="none")

    bare: Any = Bare()
    with pytest.raises(DataError, match=f"made with graph_scope={scope} has 0 edges"):
        train_once(node_embedding, quick(graph_scope=scope), context(bare))


def machine(gpus: int = 0) -> Machine:
    return Machine(nodes=(Node(name="here", cpus=2, gpus=gpus),))


@pytest.mark.parametrize(
    ("knobs", "gpus", "reason"),
    [
        ({"ranks": 2, "device": "cuda"}, 1, "needs 2 GPUs, the largest node has 1"),
        ({"ranks": 2}, 0, None),
        ({"placement": "gpu"}, 0, "placement=gpu needs a GPU"),
        ({"placement": "gpu", "device": "cpu"}, 1, "placement=gpu needs a GPU"),
        ({"placement": "gpu"}, 1, None),
        ({"placement": "cpu"}, 1, None),
        ({"amp": "bf16"}, 0, "amp does not go with embedding=sparse: rows, sparse gradients"),
        ({"amp": "bf16", "embedding": "dense"}, 0, None),
        ({"amp": "fp16", "embedding": "dense"}, 0, "amp=fp16 needs a GPU"),
        ({"amp": "fp16", "embedding": "dense"}, 1, "amp=fp16 needs placement=gpu"),
        ({"amp": "fp16", "embedding": "dense", "placement": "gpu"}, 1, None),
        ({"amp": "bf16", "embedding": "dense"}, 1, None),
        ({"pin_memory": True}, 1, "pin_memory=True needs placement=gpu"),
        ({"pin_memory": True, "placement": "gpu"}, 1, None),
        ({"prefetch": "stream", "pin_memory": True, "placement": "gpu"}, 1, None),
    ],
    ids=str,
)
def test_what_cannot_run_says_why(knobs: dict[str, Any], gpus: int, reason: str | None) -> None:
    found = node_embedding.infeasible(NodeEmbeddingConfig(**knobs), machine(gpus))
    assert found is None if reason is None else found is not None and reason in found


# -- on a GPU


@pytest.mark.gpu
@pytest.mark.parametrize("embedding", ["sparse", "dense"])
@pytest.mark.parametrize(
    "knobs",
    [
        {"placement": "cpu"},
        {"placement": "cpu", "num_workers": 2, "prefetch": "thread"},
        {"placement": "gpu"},
        {"placement": "gpu", "num_workers": 2, "pin_memory": True, "non_blocking": True},
        {"placement": "gpu", "num_workers": 2, "pin_memory": True, "prefetch": "stream"},
        {"placement": "gpu", "prefetch": "thread"},
    ],
    ids=str,
)
def test_a_gpu_learns_what_the_cpu_learns(knobs: dict[str, Any], embedding: str) -> None:
    here = train_once(
        node_embedding, quick(device="cpu", embedding=embedding), context(TINY, epochs=2, steps=20)
    )
    there = train_once(
        node_embedding,
        quick(device="cuda", embedding=embedding, **knobs),
        context(TINY, epochs=2, steps=20, device="cuda:0"),
    )
    assert there.metric("train_loss") == pytest.approx(here.metric("train_loss"), rel=1e-3)
    assert there.metric("val_auc")[-1] == pytest.approx(here.metric("val_auc")[-1], abs=0.01)


@pytest.mark.gpu
def test_tables_are_where_placement_says() -> None:
    peaks = {}
    for placement in ("cpu", "gpu"):
        gc.collect()  # what the tests before left
        torch.cuda.reset_peak_memory_stats()
        config = quick(device="cuda", placement=placement, dims=512)
        reports: Reports = train_once(node_embedding, config, context(TINY, device="cuda:0"))
        peaks[placement] = reports.kept[-1].metrics["peak_gpu_gib"]
    tables_gib = 3 * 4898 * 512 * 4 / 2**30
    # With two moments each; evaluation and the libraries' own buffers take the same in both.
    assert peaks["gpu"] - peaks["cpu"] == pytest.approx(3 * tables_gib, rel=0.1)
