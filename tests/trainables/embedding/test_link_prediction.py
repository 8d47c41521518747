from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from tests.trainables.embedding.stores import random_edges, store_folder
from trainables.embedding import link_prediction
from trainables.embedding.link_prediction import LinkPrediction
from trainables.embedding.link_split import HeldOut, LinkSplit
from trainables.embedding.tables import Aggregation, EmbeddingTables


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


def test_what_is_close_is_predicted(prediction: LinkPrediction) -> None:
    """Nodes of two kinds, told apart by their rows; edges lead within a kind alone."""
    alike = np.ones_like(prediction.split.indptr).cumsum() - 1  # as if each node had one edge
    prediction = replace(prediction, split=replace(prediction.split, indptr=alike))
    even = torch.arange(62) % 2 == 0
    with torch.no_grad():
        prediction.aggregation.heard.weight.zero_()
        prediction.tables.own.weight.zero_()
        prediction.tables.contexts.weight.zero_()
        prediction.tables.own.weight[even, 0] = 1.0
        prediction.tables.own.weight[~even, 1] = 1.0
        prediction.tables.contexts.weight.copy_(prediction.tables.own.weight)
    within = np.array([[0, 2], [4, 6], [1, 3]])
    between = np.array([[0, 1], [2, 5], [3, 8]])
    assert prediction.auc(HeldOut(edges=within, non_edges=between)) == 1.0
    assert prediction.auc(HeldOut(edges=between, non_edges=within)) == 0.0
    assert prediction.auc(HeldOut(edges=within, non_edges=within)) == 0.5


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


def test_a_node_without_an_edge_has_a_finite_score(prediction: LinkPrediction) -> None:
    assert prediction.scores(np.array([[61, 0]])).isfinite().all()
