"""Factored search: trials that roles allow it to leave out, and others; its plan."""

from collections import Counter
from typing import Any

import pytest

from orchestrator.kernel.problem import SearchProblem
from orchestrator.kernel.search import Proposal
from orchestrator.metrics import maximize, minimize
from orchestrator.search import Factored
from orchestrator.space.domains import choice
from orchestrator.trial import Stage, Trial, TrialResult, TrialState
from tests.orchestrator.search.factored.simulated import Machine, Truth
from tests.orchestrator.search.factored.simulated import problem as large_problem
from tests.orchestrator.search.playing import (
    Config,
    completed,
    play,
    problem,
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
    } | {(0.1, 0, 100)}, "and the baseline as it is"


def test_probes_are_short_and_isolated_and_trainings_are_neither() -> None:
    for trial in play(Factored().start(at(epochs=7))).trials:
        is_probe = trial.stage is Stage.PROBE
        assert trial.isolated == is_probe
        assert trial.budget.steps == (96 if is_probe else None)
        assert trial.budget.evaluated != is_probe
        assert trial.budget.epochs == 7


def test_the_probes_of_a_look_do_not_wait_for_each_other_nor_the_baseline_for_them() -> None:
    search = Factored().start(at())
    asked = [search.ask() for _ in range(8)]
    stages = [each.stage if isinstance(each, Proposal) else None for each in asked]
    assert stages == [Stage.PROBE] * 6 + [Stage.TRAIN, None]


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


def test_a_limit_counts_the_curves_the_baselines_among_them() -> None:
    limited = Factored().with_trials(3)
    trained = firsts(play(limited.start(at())).trials)
    assert len(trained) == 3 + 1, "and the baseline as it is"
    assert (0.1, 100) in {(c["lr"], c["batch"]) for c in trained}


def test_the_stages_bound_what_is_asked_for() -> None:
    here = large_problem()
    probe, own, *rungs, seeds = Factored().planned(here)
    assert (own.least, own.most) == (0, 10)
    assert (probe.name, probe.least, probe.most, probe.isolated) == ("probe", 36, 456, True)
    assert [(s.name, s.least, s.most) for s in rungs] == [
        ("train", 20, 20), ("train", 16, 20), ("train", 12, 20)
    ]  # fmt: skip
    assert [round(9 * stage.share_of_trial) for stage in rungs] == [1, 2, 6]
    assert (seeds.name, seeds.least, seeds.most) == ("seeds", 2, 40)
    results = Machine(Truth(1), here).run(Factored().start(here)).results
    probes = sum(trial.stage is Stage.PROBE for trial, _ in results)
    assert probe.least <= probes <= probe.most
    trained = len(results) - probes
    assert sum(s.least for s in (*rungs, seeds)) <= trained <= 60 + 40


def test_a_target_near_the_best_takes_rungs_of_all_curves_and_then_the_race() -> None:
    objectives = (minimize("time_to_accuracy_s"), maximize("val_acc"))
    here = large_problem(objectives=objectives)
    probe, _, *rungs, race = Factored(seeds=1).planned(here)
    assert [(stage.least, stage.most) for stage in rungs] == [(20, 20), (7, 20), (3, 20)]
    assert "the better third of all curves" in rungs[-1].text
    assert (race.least, race.most) == (0, None)
    results = Machine(Truth(1), here).run(Factored(seeds=1).start(here)).results
    trained = [trial for trial, _ in results if trial.stage is Stage.TRAIN]
    assert sum(stage.least for stage in rungs) <= len(trained)
    assert probe.least <= len(results) - len(trained)
