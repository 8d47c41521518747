from pathlib import Path

import numpy as np
import pytest
import torch

from orchestrator.errors import DataError
from tests.trainables.embedding.stores import random_edges, store_folder
from trainables.embedding import link_prediction
from trainables.embedding.link_prediction import LinkPrediction
from trainables.embedding.link_split import LinkSplit
from trainables.embedding.tables import Aggregation, EmbeddingTables


def as_set(edges: np.ndarray) -> set[tuple[int, int]]:
    return {(min(pair), max(pair)) for pair in edges.tolist()}


def edges_of(indptr: np.ndarray, indices: np.ndarray) -> np.ndarray:
    return np.stack([np.repeat(np.arange(len(indptr) - 1), np.diff(indptr)), indices], axis=1)


def test_edges_are_split_without_rest_or_overlap(tmp_path: Path) -> None:
    edges = random_edges(60, 400)
    split = LinkSplit.of(store_folder(tmp_path, edges, 60), "all")
    train = edges_of(split.indptr, split.indices)
    parts = [as_set(train), as_set(split.val.edges), as_set(split.test.edges)]
    assert [len(part) for part in parts] == [340, 20, 40]
    assert set.union(*parts) == as_set(edges)
    assert len(train) == 680  # both ways
    assert as_set(train) == as_set(train[:, ::-1])
    non_edges = [split.val.non_edges, split.test.non_edges]
    assert [len(as_set(pairs)) for pairs in non_edges] == [20, 40]
    assert not as_set(np.concatenate(non_edges)) & as_set(edges)
    assert as_set(non_edges[0]).isdisjoint(as_set(non_edges[1]))
    assert all(first != second for first, second in np.concatenate(non_edges).tolist())


def test_without_holding_out_validation_edges_stay_in_the_graph(tmp_path: Path) -> None:
    folder = store_folder(tmp_path, random_edges(60, 400), 60)
    apart, together = (LinkSplit.of(folder, "all", hold_out=hold_out) for hold_out in (True, False))
    graphs = [as_set(edges_of(split.indptr, split.indices)) for split in (apart, together)]
    assert graphs[1] == graphs[0] | as_set(apart.val.edges)
    assert len(together.val.edges) == len(together.val.non_edges) == 0
    assert np.array_equal(together.test.edges, apart.test.edges)


def test_the_largest_component_has_its_own_positions(tmp_path: Path) -> None:
    edges = np.concatenate([random_edges(20, 60), 30 + random_edges(50, 400)])
    folder = store_folder(tmp_path, edges, 90)
    split = LinkSplit.of(folder, "largest_component")
    assert split.nodes.tolist() == list(range(30, 80))
    pairs = [edges_of(split.indptr, split.indices), split.val.edges, split.test.edges]
    assert as_set(split.nodes[np.concatenate(pairs)]) == as_set(edges[60:])
    assert LinkSplit.of(folder, "all").num_nodes == 90


@pytest.mark.parametrize(
    ("edges", "num_nodes", "message"),
    [
        (np.empty((0, 2), dtype=np.int64), 40, "made with graph_scope=all has 0 edges between 40"),
        (np.array([[3, 3]]), 40, "has 0 edges"),
        (random_edges(40, 19), 40, "has 19 edges between 40 nodes: too few to hold some out"),
        (random_edges(20, 190), 20, "has 0 pairs of nodes without an edge"),
    ],
    ids=["no edges", "a loop", "few edges", "all edges"],
)
def test_a_graph_that_offers_nothing_to_predict_is_refused(
    edges: np.ndarray, num_nodes: int, message: str, tmp_path: Path
) -> None:
    folder = store_folder(tmp_path, edges, num_nodes)
    with pytest.raises(DataError, match=message):
        LinkSplit.of(folder, "all")
    assert not list((tmp_path / "data").glob("*link-split*/*/*.npy"))


@pytest.fixture
def prediction(tmp_path: Path) -> LinkPrediction:
    torch.manual_seed(0)
    split = LinkSplit.of(store_folder(tmp_path, random_edges(60, 300), 62), "all")
    tables, aggregation = EmbeddingTables(62, 8, "sparse"), Aggregation(8)
    return LinkPrediction(tables=tables, aggregation=aggregation, split=split)


def test_embeddings_are_from_all_neighbours(
    prediction: LinkPrediction, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(link_prediction, "_NODES_A_CHUNK", 7)
    split, tables = prediction.split, prediction.tables
    nodes = np.array([3, 0, 61, *range(20, 40)])  # 61 has no edge
    found = prediction.embeddings(nodes)
    for node, embedding in zip(nodes.tolist(), found, strict=True):
        heard = torch.from_numpy(split.indices[split.indptr[node] : split.indptr[node + 1]])
        said = tables.said.weight[heard].mean(0) if len(heard) else torch.zeros(8)
        whole = tables.own.weight[node] + prediction.aggregation.heard.weight @ said
        torch.testing.assert_close(embedding, whole / whole.norm())


def test_a_score_is_the_log_odds_of_the_pair(prediction: LinkPrediction) -> None:
    """Scores of a centre and a context, both ways round, to degrees to the powers 1 and 0.75."""
    pairs = np.array([[0, 2], [5, 33], [7, 0]])
    degrees = torch.from_numpy(np.diff(prediction.split.indptr)).float()
    contexts = prediction.tables.contexts.weight

    def one_way(centre: int, context: int) -> torch.Tensor:
        [embedding] = prediction.embeddings(np.array([centre]))
        walked = degrees[centre] * degrees[context] ** 0.75
        return contexts[context] @ embedding + walked.log()

    expected = torch.stack([(one_way(u, v) + one_way(v, u)) / 2 for u, v in pairs.tolist()])
    torch.testing.assert_close(prediction.scores(pairs), expected.detach())
