"""The stages of a factored search before anything has run."""

from __future__ import annotations

from dataclasses import replace

from orchestrator.metrics import at_least, maximize, minimize
from orchestrator.search import Factored
from orchestrator.space.domains import choice
from orchestrator.trial import Stage
from tests.orchestrator.search.factored.simulated import Config, Machine, Truth, problem


def test_the_stages_bound_what_is_asked_for() -> None:
    here = problem()
    probe, *rungs, seeds = Factored().planned(here)
    assert (probe.name, probe.least, probe.most, probe.isolated) == ("probe", 36, 288, True)
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


def test_a_limit_of_curves_bounds_them() -> None:
    _, first, *_ = Factored(trials=8).planned(problem())
    assert (first.least, first.most) == (8, 8)


def test_a_race_to_a_target_has_no_rungs() -> None:
    objectives = (minimize("time_to_accuracy_s"), maximize("val_acc"))
    here = replace(problem(), objectives=objectives, target=at_least("val_acc", 0.9))
    assert [stage.name for stage in Factored(seeds=1).planned(here)] == ["probe", "train"]


def test_a_target_near_the_best_takes_rungs_of_all_curves_and_then_the_race() -> None:
    objectives = (minimize("time_to_accuracy_s"), maximize("val_acc"))
    here = problem(objectives=objectives)
    probe, *rungs, race = Factored(seeds=1).planned(here)
    assert [(stage.least, stage.most) for stage in rungs] == [(20, 20), (7, 20), (3, 20)]
    assert "the better third of all curves" in rungs[-1].text
    assert (race.least, race.most) == (0, None)
    results = Machine(Truth(1), here).run(Factored(seeds=1).start(here)).results
    trained = [trial for trial, _ in results if trial.stage is Stage.TRAIN]
    assert sum(stage.least for stage in rungs) <= len(trained)
    assert probe.least <= len(results) - len(trained)


def test_without_a_choice_of_settings_there_are_no_probes() -> None:
    here = problem(Config(lr=choice(0.01, 0.03)), epochs=1)
    assert [(s.name, s.least) for s in Factored().planned(here)] == [("train", 2), ("seeds", 2)]
