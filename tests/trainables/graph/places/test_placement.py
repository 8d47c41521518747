"""Places of a graph and of its features, and what happens where a GPU has no room."""

from typing import Any

import numpy as np
import pytest
import torch

from orchestrator import Trainable
from orchestrator.execution.process.failures import failure
from orchestrator.trial import TrialState
from tests.trainables.graph import graphsage_runs, rgat_runs
from tests.trainables.running import context, train_once
from trainables.graph.places.features import Cache, FeatureTable
from trainables.graphsage import graphsage
from trainables.rgat import rgat

CPU = torch.device("cpu")


@pytest.mark.parametrize(
    ("trainable", "runs"), [(graphsage, graphsage_runs), (rgat, rgat_runs)], ids=["sage", "rgat"]
)
@pytest.mark.parametrize(
    ("knobs", "message"),
    [
        ({"sampling": "gpu"}, r"sampling=gpu needs [\d.]+ GiB on cpu, where 9.313e-09 GiB are"),
        ({"feature_placement": "device"}, r"feature_placement=device needs [\d.]+ GiB"),
        ({"cache_gib": 3.0}, r"cache_gib needs [\d.]+ GiB on cpu, where"),
    ],
    ids=str,
)
def test_what_does_not_fit_is_infeasible_with_the_figure(
    trainable: Trainable[Any],
    runs: Any,  # noqa: ANN401 - a module
    knobs: dict[str, Any],
    message: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("trainables.graph.places.placement.free_bytes", lambda _: 10)
    with pytest.raises(MemoryError, match=message) as raised:
        train_once(trainable, runs.quick(**knobs), context(runs.TINY))
    outcome = failure(raised.value, None)
    assert outcome["state"] is TrialState.INFEASIBLE
    assert "before training began" in outcome["reason"]


def test_a_cache_has_the_nodes_with_the_most_neighbours() -> None:
    features = torch.randn(1000, 16)
    degrees = np.random.default_rng(0).permutation(1000)
    indptr = np.concatenate([[0], np.cumsum(degrees)])
    num_bytes = 100 * 64 + 1000 * 4
    cache = Cache.of(features, indptr, num_bytes / 2**30, CPU)
    assert cache.rows.nbytes + cache.places.nbytes == num_bytes
    cached = (cache.places >= 0).nonzero().flatten().numpy()
    assert sorted(degrees[cached]) == list(range(900, 1000))
    nodes = torch.randint(0, 1000, (300,))
    table = FeatureTable(features=features, cache=cache)
    assert torch.equal(table.rows(nodes), features[nodes])
    whole = FeatureTable(features=features, cache=Cache.of(features, indptr, 1.0, CPU))
    assert torch.equal(whole.rows(nodes), features[nodes])


def test_a_cache_smaller_than_a_row_has_one() -> None:
    features, indptr = torch.randn(9, 4), np.arange(10) ** 2
    cache = Cache.of(features, indptr, 1e-9, CPU)
    assert torch.equal(cache.rows, features[8:])
