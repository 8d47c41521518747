"""Factored search: what roles allow to leave out, and what they do not."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from orchestrator.errors import SweepFileError
from orchestrator.kernel.problem import SearchProblem
from orchestrator.kernel.search import PlannedStage, Proposal
from orchestrator.search import Factored
from orchestrator.search.stages.sequence import Searching, Stages
from orchestrator.space.domains import choice
from orchestrator.trial import Stage, Trial, TrialResult, TrialState
from tests.orchestrator.search.playing import (
    Config,
    asked_in,
    completed,
    journalled,
    play,
    problem,
    replay,
    small_batches_only,
    smooth,
)  # fmt: skip

SPACE = Config(lr=choice(0.03, 0.1, 0.3), workers=choice(0, 3, 6), batch=choice(100, 1000))


def at(**changes: object) -> SearchProblem:
    return problem(**{"space": SPACE, **changes})


def of(trials: list[Trial], stage: Stage) -> list[dict[str, Any]]:
    return [dict(trial.config) for trial in trials if trial.stage is stage]


def firsts(trials: list[Trial]) -> list[dict[str, Any]]:
    return [dict(t.config) for t in trials if t.stage is Stage.TRAIN and t.repeat == 0]


def faster_with_less(trial: Trial) -> TrialResult:
    """Three workers are best for small batches, none for large ones."""
    best = 3 if trial.config["batch"] == 100 else 0
    speed = 1000.0 - 100 * abs(trial.config["workers"] - best)
    return completed(samples_per_s=speed, val_acc=0.9)


@pytest.mark.parametrize("capacity", [1, 3])
def test_each_way_to_learn_is_trained_with_its_fastest_systems_settings(capacity: int) -> None:
    trials = play(Factored().start(at()), faster_with_less, capacity=capacity).trials

    first = [dict(t.config) for t in trials if t.stage is Stage.PROBE and t.repeat == 0]
    assert Counter((c["workers"], c["batch"]) for c in first) == {
        (workers, batch): 1 for workers in (0, 3, 6) for batch in (100, 1000)
    }
    assert first[0] == at().baseline
    assert {c["lr"] for c in first} == {0.1}, "as the baseline learns"
    assert {(c["lr"], c["workers"], c["batch"]) for c in firsts(trials)} == {
        (lr, workers, batch) for lr in (0.03, 0.1, 0.3) for workers, batch in ((3, 100), (0, 1000))
    }


def test_probes_are_short_and_isolated_and_trainings_are_neither() -> None:
    for trial in play(Factored().start(at(epochs=7))).trials:
        is_probe = trial.stage is Stage.PROBE
        assert trial.isolated == is_probe
        assert trial.budget.steps == (96 if is_probe else None)
        assert trial.budget.evaluated != is_probe
        assert trial.budget.epochs == 7


def test_a_probe_has_no_more_steps_than_a_training() -> None:
    trials = play(Factored(probe_steps=64).start(at(steps=50))).trials
    assert {trial.budget.steps for trial in trials} == {50}
    assert {t.budget.steps for t in play(Factored(probe_steps=64).start(at(steps=90))).trials} == {
        64,
        90,
    }


def test_the_probes_of_a_look_do_not_wait_for_each_other() -> None:
    search = Factored().start(at())
    asked = [search.ask() for _ in range(7)]
    assert [isinstance(each, Proposal) for each in asked] == [True] * 6 + [False]


def test_settings_that_cannot_run_or_fail_are_not_trained() -> None:
    def answer(trial: Trial) -> TrialResult:
        workers = trial.config["workers"]
        if workers == 6:
            return TrialResult(state=TrialState.INFEASIBLE, reason="too many")
        if workers == 3 and trial.stage is Stage.PROBE:
            return TrialResult(state=TrialState.FAILED, reason="raised")
        return smooth(trial)

    trials = play(Factored().start(at()), answer).trials
    assert {c["workers"] for c in of(trials, Stage.TRAIN)} == {0}
    probed = Counter(c["workers"] for c in of(trials, Stage.PROBE))
    assert (probed[6], probed[3]) == (2, 4), "once a group; what failed is tried once more"


def test_where_no_setting_can_run_nothing_is_trained() -> None:
    def answer(trial: Trial) -> TrialResult:
        return TrialResult(state=TrialState.INFEASIBLE, reason="no")

    assert of(play(Factored().start(at()), answer).trials, Stage.TRAIN) == []


def test_without_systems_knobs_to_choose_nothing_is_probed() -> None:
    space = Config(lr=choice(0.03, 0.1), batch=choice(100, 1000))
    trials = play(Factored(seeds=1).start(at(space=space))).trials
    assert [trial.stage for trial in trials] == [Stage.TRAIN] * 4


def test_without_learning_knobs_the_fastest_is_trained() -> None:
    trials = play(Factored().start(at(space=Config(workers=choice(0, 3, 6)))), smooth).trials
    assert [c["workers"] for c in firsts(trials)] == [6]


def test_excluded_configs_are_neither_probed_nor_trained() -> None:
    trials = play(Factored().start(at(constraints=small_batches_only()))).trials
    assert {trial.config["batch"] for trial in trials} == {100}


def test_a_limit_counts_the_curves_the_baselines_among_them() -> None:
    limited = Factored().with_trials(3)
    trained = firsts(play(limited.start(at())).trials)
    assert len(trained) == 3
    assert (0.1, 100) in {(c["lr"], c["batch"]) for c in trained}


@pytest.mark.parametrize("order", range(4))
def test_a_resumed_run_asks_for_the_same(order: int) -> None:
    def search() -> Stages:
        return Stages(at(epochs=9), [Searching(Factored().start(at(epochs=9)))])

    def answer(trial: Trial) -> TrialResult:
        if trial.config["workers"] == 6 and trial.config["batch"] == 1000:
            return TrialResult(state=TrialState.INFEASIBLE, reason="too much memory")
        return smooth(trial)

    game = play(search(), answer, capacity=3, order=order)
    calls = journalled(game.calls)
    assert replay(search(), calls) == asked_in(calls)


def test_the_plan_bounds_what_is_asked_for() -> None:
    here = at(epochs=9)
    trials = play(Factored().start(here), smooth).trials
    stages = {stage.name: stage for stage in Factored().planned(here)}
    probe = stages["probe"]
    assert (probe.least, probe.most, probe.isolated) == (6, 48, True)
    assert 6 <= len(of(trials, Stage.PROBE)) <= 36
    rungs = [stage for stage in Factored().planned(here) if stage.name == "train"]
    assert [(s.least, s.most, round(9 * s.share_of_trial)) for s in rungs] == [
        (6, 6, 1), (4, 6, 2), (4, 6, 6)
    ]  # fmt: skip
    assert isinstance(stages["seeds"], PlannedStage)
    assert stages["seeds"].most == 12


@pytest.mark.parametrize(
    "wrong",
    [
        {"points": 0},
        {"probes": 0},
        {"seeds": -1},
        {"probe_steps": 0},
        {"confirm_steps": 0},
    ],
)
def test_bad_arguments_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(SweepFileError, match="is not allowed"):
        Factored(**wrong)
