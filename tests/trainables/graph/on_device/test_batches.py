"""Batches that are sampled where the training is: the GPU's way, here on the CPU as well."""

from typing import Any

import pytest
import torch

from orchestrator.measurement.fingerprint import Fingerprint
from tests.trainables.graph import graphsage_runs, rgat_runs
from tests.trainables.running import context, train_once
from trainables.graphsage import graphsage
from trainables.rgat import rgat

WAYS = pytest.mark.parametrize(
    "knobs",
    [
        {"sampling": "gpu"},
        {"sampling": "uva", "feature_placement": "device"},
        {"sampling": "gpu", "feature_placement": "pinned", "cache_gib": 1e-4},
        {"sampling": "cpu", "feature_placement": "host", "cache_gib": 1e-4},
        {"sampling": "cpu", "feature_placement": "pinned", "num_workers": 1},
        {"sampling": "uva", "accumulate": 2},
    ],
    ids=str,
)


def tensors(thing: object) -> list[torch.Tensor]:
    if isinstance(thing, torch.Tensor):
        return [thing]
    parts = thing if isinstance(thing, tuple) else ()
    return [tensor for part in parts for tensor in tensors(part)]


@pytest.mark.parametrize("sampling", ["gpu", "uva"])
@pytest.mark.parametrize(
    "knobs",
    [{}, {"replace": False}, {"fanouts": (-1, 3)}, {"fanouts": (2, 3, 4)}, {"aggregator": "pool"}],
    ids=str,
)
def test_what_is_sampled_where_training_is_is_what_the_loader_samples(
    sampling: str, knobs: dict[str, Any]
) -> None:
    there = {"feature_placement": "device", **knobs}
    expected = graphsage_runs.seen_by(graphsage_runs.quick(**there))
    found = graphsage_runs.seen_by(graphsage_runs.quick(sampling=sampling, **there))
    assert len(found) == len(expected) == 5
    for one, other in zip(found, expected, strict=True):
        for ours, theirs in zip(tensors(one), tensors(other), strict=True):
            assert torch.equal(ours, theirs)
            assert ours.dtype == theirs.dtype
        assert one.total == other.total


@pytest.mark.parametrize("sampling", ["gpu", "uva"])
def test_relational_batches_are_those_of_the_loader(sampling: str) -> None:
    there = {"feature_placement": "device"}
    expected = rgat_runs.seen_by(rgat_runs.quick(**there))
    found = rgat_runs.seen_by(rgat_runs.quick(sampling=sampling, **there))
    assert len(found) == len(expected) == 5
    for one, other in zip(found, expected, strict=True):
        assert [block.bounds for block in one.blocks] == [block.bounds for block in other.blocks]
        for ours, theirs in zip(tensors(one), tensors(other), strict=True):
            assert torch.equal(ours, theirs)
            assert ours.dtype == theirs.dtype


def test_a_place_changes_no_fingerprint() -> None:
    def fingerprint(**knobs: object) -> str:
        found = Fingerprint()
        found.add_batch(rgat_runs.seen_by(rgat_runs.quick(**knobs))[0])
        return found.batches

    assert fingerprint(feature_placement="device") == fingerprint()
    assert fingerprint(sampling="uva") == fingerprint()
    assert fingerprint(fanouts=(3, 3)) != fingerprint()


def test_a_part_of_a_batch_may_be_empty() -> None:
    for trainable, runs in ((graphsage, graphsage_runs), (rgat, rgat_runs)):
        parts = runs.seen_by(runs.quick(accumulate=110, sampling="gpu"))
        assert min(len(part.labels) for part in parts) == 0
        reports = train_once(trainable, runs.quick(accumulate=110), context(runs.TINY, steps=2))
        assert reports.kept[-1].step == 2


@WAYS
@pytest.mark.parametrize("aggregator", ["mean", "gcn", "pool"])
def test_graphsage_learns_the_same_in_each_place(knobs: dict[str, Any], aggregator: str) -> None:
    runs = graphsage_runs
    here = context(runs.TINY, epochs=2)
    alike = {"dropout": 0.0, "aggregator": aggregator}
    expected = train_once(graphsage, runs.quick(**alike), here)
    found = train_once(graphsage, runs.quick(**alike, **knobs), here)
    assert found.metric("train_loss") == pytest.approx(expected.metric("train_loss"), rel=1e-4)
    assert found.kept[-1].step == expected.kept[-1].step


@WAYS
def test_rgat_learns_the_same_in_each_place(knobs: dict[str, Any]) -> None:
    runs = rgat_runs
    here = context(runs.TINY, epochs=2, evaluate_test=True)
    expected = train_once(rgat, runs.quick(dropout=0.0), here)
    found = train_once(rgat, runs.quick(dropout=0.0, **knobs), here)
    # Batch norm takes the mean of a micro-batch.
    near = 0.2 if "accumulate" in knobs else 1e-4
    for name in ("train_loss", "val_acc", "test_acc"):
        assert found.metric(name) == pytest.approx(expected.metric(name), rel=near)
