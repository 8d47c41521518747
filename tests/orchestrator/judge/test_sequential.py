"""The test of pairs: how often it errs, and how soon it ends."""

import math

import numpy as np
import pytest

from orchestrator.judge.sequential import MOST, Verdict, expected_pairs, judged

WITHIN = 0.03


def verdict_of(logs: list[float], most: int = MOST) -> Verdict:
    """Return the first verdict on pairs that come one after the other."""
    for number in range(len(logs) + 1):
        if (verdict := judged(logs[:number], WITHIN, most)) is not None:
            return verdict
    raise AssertionError("no verdict after the last pair")


@pytest.mark.parametrize(
    ("change", "spread", "words", "least"),
    [
        (0.0, 0.02, {"same"}, 0.98),
        (0.03, 0.02, {"faster"}, 0.9),
        (-0.1, 0.02, {"slower"}, 0.99),
        (0.0, 0.06, {"same", "not decided"}, 0.98),
    ],
)
def test_drawn_pairs_are_judged_rightly(
    change: float, spread: float, words: set[str], least: float
) -> None:
    draws = np.random.default_rng(0).normal(math.log1p(change), spread, (1000, MOST))

    verdicts = [verdict_of(row.tolist()) for row in draws]

    assert np.mean([verdict.verdict in words for verdict in verdicts]) >= least
    if spread == 0.02:
        assert np.mean([verdict.pairs for verdict in verdicts]) <= 9


def test_the_ratio_is_the_geometric_mean_in_its_interval() -> None:
    verdict = verdict_of([0.10, 0.11, 0.09, 0.10, 0.10])

    assert verdict.ratio == pytest.approx(math.exp(0.10))
    assert 1.09 < verdict.low < verdict.ratio < verdict.high < 1.12
    assert verdict.pairs == 5


def test_equal_figures_are_the_same_and_few_pairs_may_not_decide() -> None:
    assert verdict_of([0.0] * 5).verdict == "same"
    assert verdict_of([0.5, -0.5, 0.1], most=3).verdict == "not decided"


def test_the_number_of_pairs_by_arithmetic() -> None:
    assert expected_pairs(0.03) == 7
    assert expected_pairs(0.01) == 61
