"""What an Optuna study is told: directions, bounds, and what cannot run."""

from __future__ import annotations

import pytest
from optuna.distributions import IntDistribution
from optuna.samplers import RandomSampler
from optuna.trial import Trial, TrialState

from orchestrator.metrics import Objective, at_least, at_most, maximize, minimize
from orchestrator.search.optuna_study import CAN_RUN, ToldStudy
from orchestrator.trial import TrialResult
from orchestrator.trial import TrialState as State
from tests.orchestrator.search.playing import completed

SPACE = {"x": IntDistribution(0, 9)}
CANNOT_RUN = TrialResult(state=State.INFEASIBLE, reason="out of memory")


def told_study(*objectives: Objective) -> ToldStudy:
    return ToldStudy(objectives, RandomSampler(seed=0))


def asked(told: ToldStudy) -> Trial:
    return told.study.ask(dict(SPACE))


def test_bounds_are_constraints_and_the_others_directions() -> None:
    told = told_study(
        maximize("speed"), minimize("loss"), at_least("acc", 0.8), at_most("gib", 20.0)
    )
    told.conclude(asked(told), [completed(speed=7.0, loss=0.5, acc=0.9, gib=25.0)])
    (trial,) = told.study.trials

    assert [direction.name for direction in told.study.directions] == ["MAXIMIZE", "MINIMIZE"]
    assert trial.values == [7.0, 0.5]
    assert trial.constraints == pytest.approx(
        {CAN_RUN: -1.0, "acc maximize 0.8": -0.125, "gib minimize 20.0": 0.25}
    )


def test_a_config_exactly_on_its_bound_keeps_it() -> None:
    told = told_study(maximize("speed"), at_least("acc", 0.8))
    told.conclude(asked(told), [completed(speed=7.0, acc=0.8)])

    assert told.study.best_trial.number == 0


def test_both_bounds_of_one_metric_are_told() -> None:
    told = told_study(maximize("speed"), at_least("gib", 1.0), at_most("gib", 2.0))
    told.conclude(asked(told), [completed(speed=7.0, gib=3.0)])

    assert told.study.trials[0].constraints == {
        CAN_RUN: -1.0, "gib maximize 1.0": -2.0, "gib minimize 2.0": 0.5
    }  # fmt: skip


def test_what_cannot_run_waits_for_a_value_and_is_told_as_the_worst() -> None:
    """A loss of 0, made up before there is any, would be the best of all."""
    told = told_study(minimize("loss"), at_most("gib", 2.0))
    told.tell_infeasible(asked(told))
    told.conclude(asked(told), [CANNOT_RUN])
    assert [trial.state for trial in told.study.trials] == [TrialState.RUNNING] * 2

    told.conclude(asked(told), [completed(loss=0.5, gib=1.0)])
    told.conclude(asked(told), [completed(loss=0.7, gib=3.0)])
    told.conclude(asked(told), [CANNOT_RUN])

    assert [trial.values for trial in told.study.trials] == [[0.5], [0.5], [0.5], [0.7], [0.7]]
    can_run = [trial.constraints[CAN_RUN] for trial in told.study.trials]
    assert can_run == [1.0, 1.0, -1.0, -1.0, 1.0]
    assert told.study.trials[4].constraints["gib minimize 2.0"] == 0.5
    assert {len(trial.constraints) for trial in told.study.trials} == {2}


def test_a_config_without_a_figure_of_a_bound_teaches_nothing() -> None:
    told = told_study(maximize("speed"), at_least("acc", 0.8))
    told.conclude(asked(told), [completed(speed=7.0)])

    assert told.study.trials[0].state is TrialState.FAIL
