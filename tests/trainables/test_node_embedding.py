import gc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from orchestrator import DataFolders
from orchestrator.measurement.run import Run
from orchestrator.space.configs import replaced, values_of
from tests.trainables.running import Reports, context, train_once
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
    return replaced(QUICK, knobs)


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


# -- systems knobs: they do not change what is learned, and each has its effect


@pytest.mark.parametrize(
    "knobs",
    [{"num_workers": 2, "prefetch": "thread", "pair_container": "list"}, {"threads": 2}],
    ids=str,
)
def test_sparse_tables_learn_the_same_whatever_the_systems_knobs(knobs: dict[str, Any]) -> None:
    """For dense ones see test_contract.py."""
    where = context(TINY, epochs=2, steps=12)
    expected = train_once(node_embedding, QUICK, where)
    found = train_once(node_embedding, quick(**knobs), where)
    assert found.metric("train_loss") == pytest.approx(expected.metric("train_loss"), rel=1e-5)
    assert found.metric("val_auc")[-1] == pytest.approx(expected.metric("val_auc")[-1], abs=1e-3)


def test_as_many_processes_draw_the_walks_as_are_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
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


# -- on a GPU


@pytest.mark.gpu
def test_tables_are_where_placement_puts_them() -> None:
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
