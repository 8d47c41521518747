"""The race to a target on the composed clock: lossless, and shorter."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from orchestrator.metrics import Objective, at_least, maximize, minimize
from orchestrator.search import Factored
from orchestrator.search.base import SearchProblem
from orchestrator.search.factored.search import FactoredSearch
from orchestrator.trial import Stage
from tests.orchestrator.search.factored import simulated
from tests.orchestrator.search.factored.simulated import SAMPLES, Machine, Truth, problem

TRUTH = Truth(3)
EPOCHS = 27


def to_target(target: Objective, epochs: int = EPOCHS) -> SearchProblem:
    objectives = (minimize("time_to_accuracy_s"), maximize("val_acc"))
    return replace(problem(epochs=epochs), objectives=objectives, target=target)


@pytest.fixture(scope="module", params=[1, 5])
def raced(request: pytest.FixtureRequest) -> tuple[Machine, FactoredSearch]:
    """A race to 1 point below the best accuracy, one trial at a time or five."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(simulated, "EPOCHS", EPOCHS)
        here = to_target(at_least("val_acc", best_accuracy() - 0.01))
        search = Factored(seeds=1).start(here)
        assert isinstance(search, FactoredSearch)
        return Machine(TRUTH, here, slots=request.param).run(search), search


def best_accuracy() -> float:
    factors = Factored().factors(problem())
    configs = [factors.candidates.config(key) for key in factors.candidates.keys]
    return max(TRUTH.accuracy(config, EPOCHS) for config in configs)


def test_the_winner_is_that_of_all_curves_in_full(
    raced: tuple[Machine, FactoredSearch], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first on the search's own clock, had each curve been trained to its end."""
    monkeypatch.setattr(simulated, "EPOCHS", EPOCHS)
    machine, search = raced
    whole = Machine(TRUTH, machine.problem)
    trained = {str(t.config): t for t, _ in machine.results if t.stage is Stage.TRAIN}
    target = machine.problem.target
    assert target is not None
    assert target.bound is not None

    def reached_s(config: str) -> float:
        trial = trained[config]
        trial = replace(trial, budget=machine.problem.budget)
        _, reports, _ = whole._play(trial, Factored(seeds=1).start(problem()))
        setting = search._findings.factors.setting_of(
            tuple(trial.config[name] for name in machine.problem.base)
        )
        rate = search._findings.speeds.samples_per_s(setting)
        epochs = [r.epoch for r in reports if r.metrics["val_acc"] >= target.bound]
        return min(epochs, default=math.inf) * SAMPLES / rate

    assert search._racing is not None
    assert search._racing.best_s == pytest.approx(min(map(reached_s, trained)))


def test_the_race_takes_less_than_all_curves_in_full(
    raced: tuple[Machine, FactoredSearch],
) -> None:
    machine, _ = raced
    trained = [(t, r) for t, r in machine.results if t.stage is Stage.TRAIN]
    raced_s = sum(result.wall_s or 0.0 for _, result in trained)
    configs = {str(trial.config): trial.config for trial, _ in trained}.values()
    whole_s = sum(EPOCHS * SAMPLES / TRUTH.speed(config) for config in configs)
    assert raced_s < 0.5 * whole_s


def test_a_target_that_nothing_reaches_is_said() -> None:
    here = to_target(at_least("val_acc", 0.999), epochs=9)
    search = Factored().start(here)
    Machine(TRUTH, here).run(search)
    assert isinstance(search, FactoredSearch)
    (note,) = search.notes()
    assert note.startswith("no curve reached val_acc 0.999 in 9 epochs; the best got to 0.9")


def test_a_target_near_the_best_takes_the_best_first() -> None:
    here = to_target(maximize("val_acc", tolerance=0.005), epochs=9)
    search = Factored(seeds=1).start(here)
    machine = Machine(TRUTH, here).run(search)
    best = max(r.metrics["val_acc"] for t, r in machine.results if t.stage is Stage.TRAIN)
    assert isinstance(search, FactoredSearch)
    assert search._racing is not None
    assert search._racing.best_s < math.inf
    whole = [t for t, _ in machine.results if t.stage is Stage.TRAIN and not t.budget.pause_after]
    assert best > 0.9
    assert whole, "a relative target takes whole trainings"
