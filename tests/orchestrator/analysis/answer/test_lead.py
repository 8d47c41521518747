"""The clause on the accuracy in an answer's sentence."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from orchestrator.analysis.answer.accuracy import Difference
from orchestrator.analysis.answer.lead import accuracy_clause
from orchestrator.analysis.recommendation.recommend import Recommendation, recommend
from orchestrator.metrics import maximize, minimize
from tests.orchestrator.analysis.made_runs import MadeRun, config


@pytest.fixture(scope="module")
def recommendation() -> Recommendation:
    run = MadeRun()
    run.add_runs(config(), [1000.0])
    return recommend(run.tables)


def of_loss(recommendation: Recommendation) -> Recommendation:
    rule = replace(recommendation.rule, objectives=(maximize("speed"), minimize("val_loss")))
    return replace(recommendation, rule=rule, figures={"val_loss": 0.5})


def difference(low: float, high: float, *, tolerance: float = 0.005, sign: float = 1) -> Difference:
    centre = (low + high) / 2
    return Difference(centre=centre, low=low, high=high, sign=sign, tolerance=tolerance)


@pytest.mark.parametrize(
    ("low", "high", "clause"),
    [
        (0.02, 0.03, " and is 2.5 points more accurate"),
        (-0.0013, -0.0011, " but is 0.12 points less accurate"),
        (-0.003, 0.002, " and is as accurate within 0.5 points"),
        (-0.02, 0.03, "; no difference in accuracy is shown"),
    ],
)
def test_an_accuracy(recommendation: Recommendation, low: float, high: float, clause: str) -> None:
    assert accuracy_clause(difference(low, high), recommendation) == clause


@pytest.mark.parametrize(
    ("low", "high", "clause"),
    [
        (0.02, 0.03, " but its val_loss is 0.025 higher"),
        (-0.03, -0.02, " and its val_loss is 0.025 lower"),
        (-0.003, 0.002, " and has the same val_loss within 0.005"),
    ],
)
def test_a_loss(recommendation: Recommendation, low: float, high: float, clause: str) -> None:
    assert accuracy_clause(difference(low, high, sign=-1), of_loss(recommendation)) == clause


def test_runs_that_selected_are_named(recommendation: Recommendation) -> None:
    better = replace(difference(0.02, 0.03), selected=True)
    assert accuracy_clause(better, recommendation).endswith(" more accurate in the search")
    alike = replace(difference(-0.003, 0.002), selected=True)
    assert accuracy_clause(alike, recommendation).endswith(" within 0.5 points in the search")


def test_a_difference_that_is_not_known_is_said_to_be_so(recommendation: Recommendation) -> None:
    clause = accuracy_clause(None, recommendation)
    assert clause == "; the difference in accuracy is not known"
    assert accuracy_clause(None, of_loss(recommendation)).endswith("in val_loss is not known")


def test_where_nothing_was_learned_nothing_is_said(recommendation: Recommendation) -> None:
    assert accuracy_clause(None, replace(recommendation, figures={"val_acc": math.nan})) == ""
