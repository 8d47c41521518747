"""Network, training and requests of graphsage; its batches are in test_graphsage_batches.py."""

from statistics import median
from typing import Any

import dgl
import dgl.nn
import pytest
import torch
from torch.nn import functional

from orchestrator.space.configs import canonical, replaced
from tests.trainables.graph.graphsage_runs import TINY, quick, seen_by, store_of
from tests.trainables.running import context, train_once
from trainables.data.sets.ogbn_products import OgbGraph
from trainables.graph.layers import SageLayer
from trainables.graph.minibatch import Minibatch, Rows
from trainables.graphsage import GraphSage, SageConfig, graphsage


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
            theirs.fc_self.bias.copy_(ours.own.bias)
        if ours.pool is not None:
            theirs.fc_pool.weight.copy_(ours.pool.weight)
            theirs.fc_pool.bias.copy_(ours.pool.bias)
    return theirs


def close(one: torch.Tensor | None, other: torch.Tensor | None) -> None:
    torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-5)


# -- what it learns


@pytest.mark.slow
def test_it_learns_amazon_photo(photo: OgbGraph) -> None:
    config = SageConfig(batch_size=500, fanouts=(5, 10), lr=1e-3, eval_every=99, threads=1)
    reports = train_once(graphsage, config, context(photo, epochs=20, evaluate_test=True))
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


def test_the_accuracy_on_all_nodes_is_that_of_the_splits_together() -> None:
    config = canonical(quick(mode="full"))
    reports = train_once(graphsage, config, context(TINY, epochs=3, evaluate_test=True))
    untested = train_once(graphsage, config, context(TINY, epochs=3))
    assert untested.metric("all_acc") == []
    [all_acc], [test_acc] = reports.metric("all_acc"), reports.metric("test_acc")
    store = store_of(TINY)
    num_test, num_val = len(store.test), len(store.val)
    known = test_acc * num_test + reports.metric("val_acc")[-1] * num_val
    of_train = (all_acc * store.num_nodes - known) / len(store.train)
    assert 0 <= of_train <= 1
    assert num_test + num_val + len(store.train) == store.num_nodes
    assert of_train * len(store.train) == pytest.approx(round(of_train * len(store.train)))


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


@pytest.mark.parametrize("fanouts", [(4, 5), (-1, -1), (2, 3, 4)])
def test_micro_batches_have_the_gradient_of_the_whole_batch(fanouts: tuple[int, ...]) -> None:
    config = quick(dropout=0.0, fanouts=fanouts)
    store = store_of(TINY)
    torch.manual_seed(0)
    network = GraphSage(config, store.num_features, store.num_classes)

    def gradients(parts: list[Minibatch]) -> list[torch.Tensor]:
        network.zero_grad()
        for part in parts:
            scores = network(part.inputs, part.blocks)
            (functional.cross_entropy(scores, part.labels, reduction="sum") / part.total).backward()
        return [parameter.grad.clone() for parameter in network.parameters()]

    whole = seen_by(config)[:1]
    parts = seen_by(replaced(config, {"accumulate": 3}))[:3]
    assert [len(part.labels) for part in parts] == [34, 33, 33]
    for found, expected in zip(gradients(parts), gradients(whole), strict=True):
        torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-6)


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
        sampling="gpu",
        cache_gib=1.0,
        accumulate=2,
    )
    assert canonical(busy) == canonical(quick(mode="full"))
