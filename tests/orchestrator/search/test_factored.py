"""Factored search: what roles allow to leave out, and what they do not."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from orchestrator.driver.plan import make_plan
from orchestrator.driver.plan_text import plan_lines
from orchestrator.errors import SweepFileError
from orchestrator.search import Factored
from orchestrator.search.base import Proposal, SearchProblem
from orchestrator.search.stages.interference import InterferenceCheck
from orchestrator.search.stages.sequence import Searching, Stages
from orchestrator.space.domains import choice
from orchestrator.sweep.definition import Sweep
from orchestrator.trial import Stage, Trial, TrialResult, TrialState
from tests.orchestrator.search.playing import (
    MACHINE,
    TRAINABLE,
    Config,
    SilentJudge,
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


def faster_with_less(trial: Trial) -> TrialResult:
    """Three workers are best for small batches, none for large ones."""
    best = 3 if trial.config["batch"] == 100 else 0
    speed = 1000.0 - abs(trial.config["workers"] - best)
    return completed(samples_per_s=speed, val_acc=0.9)


@pytest.mark.parametrize("capacity", [1, 3])
def test_each_way_to_learn_is_trained_with_its_fastest_systems_settings(capacity: int) -> None:
    trials = play(Factored().start(at()), faster_with_less, capacity=capacity).trials

    probes, trained = of(trials, Stage.PROBE), of(trials, Stage.TRAIN)
    assert Counter((c["workers"], c["batch"]) for c in probes) == {
        (workers, batch): 1 for workers in (0, 3, 6) for batch in (100, 1000)
    }
    assert {c["lr"] for c in probes} == {0.1}, "as the baseline learns"
    assert [trial.stage for trial in trials] == [Stage.PROBE] * 6 + [Stage.TRAIN] * 7
    assert trained[0] == at().baseline
    assert {(c["lr"], c["workers"], c["batch"]) for c in trained[1:]} == {
        (lr, workers, batch) for lr in (0.03, 0.1, 0.3) for workers, batch in ((3, 100), (0, 1000))
    }


def test_probes_are_short_and_isolated_and_trials_are_neither() -> None:
    for trial in play(Factored(half_width=0.1).start(at(epochs=7))).trials:
        is_probe = trial.stage is Stage.PROBE
        assert trial.isolated == is_probe
        assert trial.budget.half_width == (0.1 if is_probe else None)
        assert trial.budget.epochs == 7


def test_no_two_probes_are_out_together() -> None:
    search = Factored().start(at())
    assert isinstance(search.ask(), Proposal)
    assert not isinstance(search.ask(), Proposal)


def test_only_trained_configs_are_repeated() -> None:
    trials = play(Factored().start(at(repeats=3)), faster_with_less).trials
    assert len(of(trials, Stage.PROBE)) == 6
    assert set(Counter(map(str, of(trials, Stage.TRAIN))).values()) == {3}


def test_settings_that_cannot_run_are_not_chosen_and_those_that_failed_are_chosen_last() -> None:
    def answer(trial: Trial) -> TrialResult:
        workers = trial.config["workers"]
        if workers == 6:
            return TrialResult(state=TrialState.INFEASIBLE, reason="too many")
        if workers == 3 and trial.stage is Stage.PROBE:
            return TrialResult(state=TrialState.FAILED, reason="raised")
        return smooth(trial)

    trained = of(play(Factored().start(at()), answer).trials, Stage.TRAIN)
    assert {c["workers"] for c in trained} == {0}
    assert len(trained) == 6


def test_where_no_setting_can_run_nothing_but_the_baseline_is_trained() -> None:
    def answer(trial: Trial) -> TrialResult:
        return TrialResult(state=TrialState.INFEASIBLE, reason="no")

    assert of(play(Factored().start(at()), answer).trials, Stage.TRAIN) == [at().baseline]


def test_without_systems_knobs_to_choose_nothing_is_probed() -> None:
    space = Config(lr=choice(0.03, 0.1), batch=choice(100, 1000))
    trials = play(Factored().start(at(space=space))).trials
    assert [trial.stage for trial in trials] == [Stage.TRAIN] * 4


def test_without_learning_knobs_the_fastest_and_the_baseline_are_trained() -> None:
    trials = play(Factored().start(at(space=Config(workers=choice(0, 3, 6)))), smooth).trials
    assert of(trials, Stage.PROBE)[0]["workers"] == 0
    assert [c["workers"] for c in of(trials, Stage.TRAIN)] == [0, 6]


def test_excluded_configs_are_neither_probed_nor_trained() -> None:
    trials = play(Factored().start(at(constraints=small_batches_only()))).trials
    assert {trial.config["batch"] for trial in trials} == {100}


def test_a_limit_counts_what_is_trained_the_baseline_among_it() -> None:
    limited = Factored().with_trials(3)
    trained = of(play(limited.start(at())).trials, Stage.TRAIN)
    assert len(trained) == 3
    assert trained[0] == at().baseline


@pytest.mark.parametrize("order", range(4))
def test_a_resumed_run_asks_for_the_same(order: int) -> None:
    def search() -> Stages:
        here = at()
        running = Factored().start(here)
        checking = InterferenceCheck(
            num_configs=2, capacity=3, speed="samples_per_s", judge=SilentJudge()
        )
        first = Searching(running, num_trials=4)
        return Stages(here, [first, checking, Searching(running)])

    def answer(trial: Trial) -> TrialResult:
        if trial.config["workers"] == 6 and trial.config["batch"] == 1000:
            return TrialResult(state=TrialState.INFEASIBLE, reason="too much memory")
        return smooth(trial)

    game = play(search(), answer, capacity=3, order=order)
    calls = journalled(game.calls)
    assert replay(search(), calls) == asked_in(calls)
    beside = [t for t in game.trials if t.stage is Stage.TRAIN]
    checked = [t for t in game.trials if t.stage is Stage.PROBE and t.budget.half_width is None]
    measured = [t for t in checked if t.repeat <= 3]
    assert len(measured) == 12, "two configs of those that were trained, three runs each way"
    assert {str(t.config) for t in checked} <= {str(t.config) for t in beside}


def test_the_plan_counts_what_is_asked_for() -> None:
    sweep = Sweep(TRAINABLE, question="?", space=SPACE, search=Factored(), repeats=2)
    plan = make_plan(sweep, MACHINE, num_cores=1)
    trials = play(Factored().start(at(repeats=2)), faster_with_less).trials
    assert plan.num_probes == len(of(trials, Stage.PROBE)) == 6
    assert plan.num_train == len(of(trials, Stage.TRAIN)) == 14
    text = "\n".join(plan_lines(plan))
    assert "probe       6 short trials, one at a time and isolated, each until its speed is" in text
    assert "train       up to 14 trials of 7 configs, 2 runs each: every way to learn" in text


@pytest.mark.parametrize("wrong", [{"half_width": 0}, {"half_width": 1.5}, {"points": 0}])
def test_bad_arguments_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(SweepFileError, match="is not allowed"):
        Factored(**wrong)
