"""Optuna: samplers in a sweep file; directions, bounds and what cannot run in a study."""

from __future__ import annotations

import pytest
from optuna.distributions import IntDistribution
from optuna.samplers import RandomSampler
from optuna.trial import Trial, TrialState

from orchestrator.errors import SweepFileError
from orchestrator.metrics import Objective, at_least, at_most, maximize, minimize
from orchestrator.search import Optuna, Sampler
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


def test_a_sampler_may_be_given_by_its_name() -> None:
    assert Optuna(9, sampler="gp") == Optuna(9, sampler=Sampler.GP)
    assert Optuna(9, sampler="gp").with_trials(3) == Optuna(3, sampler=Sampler.GP)


def test_an_unknown_sampler_is_refused_with_the_nearest_name() -> None:
    with pytest.raises(SweepFileError) as refused:
        Optuna(9, sampler="sobel")

    assert "Optuna: sampler = 'sobel' is not allowed; did you mean 'sobol'?" in str(refused.value)
    assert "allowed: tpe, nsga2, gp, sobol" in str(refused.value)


def test_earlier_results_change_what_all_but_sobol_s_sequence_suggests() -> None:
    assert {sampler: Optuna(sampler=sampler).warm_starts for sampler in Sampler} == {
        "tpe": True, "nsga2": True, "gp": True, "sobol": False
    }  # fmt: skip
