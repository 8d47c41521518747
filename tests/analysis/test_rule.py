from __future__ import annotations

import pandas as pd
import pytest

from analysis.rule import Rule, rule_of, unreported, with_objectives
from orchestrator.errors import SweepError
from orchestrator.metrics import maximize, minimize
from tests.analysis.made_runs import MadeRun

RULE = Rule(speed=maximize("samples_per_s"), accuracy=maximize("val_acc"), tolerance=0.005)
COSTS = Rule(speed=minimize("epoch_s"), accuracy=minimize("train_loss"), tolerance=0.01)


def with_objectives_of(*metrics: str) -> MadeRun:
    run = MadeRun()
    run.sweep["objectives"] = [{"metric": metric, "goal": "maximize"} for metric in metrics]
    return run


def test_the_rule_is_the_sweeps_own(made: MadeRun) -> None:
    made.sweep["tie_margin"] = 0.06
    rule = rule_of(made.record)
    assert (rule.tolerance, rule.tie_margin) == (0.005, 0.06)
    assert rule.text == (
        "the fastest config by samples_per_s whose val_acc is within 0.5 points of the best; "
        "of those as fast within 6 %, the cheapest"
    )


def test_costs_are_named_as_such() -> None:
    assert COSTS.text.startswith("the least costly config by epoch_s whose train_loss is within")


def test_fewer_than_two_objectives_are_no_rule() -> None:
    with pytest.raises(SweepError, match="fewer than two objectives"):
        rule_of(with_objectives_of("samples_per_s").record)


def test_test_data_may_not_select() -> None:
    with pytest.raises(SweepError, match="test_acc would select on test data"):
        rule_of(with_objectives_of("samples_per_s", "test_acc").record)


def test_the_tolerance_includes_its_end() -> None:
    accuracies = pd.Series([0.900, 0.895, 0.8949])
    assert RULE.is_accurate(accuracies).tolist() == [True, True, False]
    assert COSTS.is_accurate(pd.Series([0.500, 0.510, 0.511])).tolist() == [True, True, False]


def test_a_ratio_above_one_is_faster_whatever_is_measured() -> None:
    figures = pd.Series([200.0, 50.0])
    assert RULE.ratios(figures, 100.0).tolist() == [2.0, 0.5]
    assert COSTS.ratios(figures, 100.0).tolist() == [0.5, 2.0]


def test_the_test_figure_is_the_one_beside_the_validation_figure() -> None:
    assert RULE.test_column == "metrics.test_acc"


def test_an_objective_without_a_report_is_an_empty_column() -> None:
    rows = pd.DataFrame({"metrics.val_acc": [0.9]})
    objectives = (maximize("my_speed"), maximize("val_acc"))
    assert with_objectives(rows, objectives)["metrics.my_speed"].isna().all()
    assert unreported(rows, objectives) == ["my_speed"]
