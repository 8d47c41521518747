"""The race to a target on the composed clock; further probes of the front's settings."""

import math
from dataclasses import replace
from typing import Any

import pytest

from orchestrator.kernel.problem import SearchProblem
from orchestrator.metrics import Objective, at_least, maximize, minimize
from orchestrator.rules import fastest_within
from orchestrator.search import Factored
from orchestrator.search.factored.curves import value_to_reach
from orchestrator.search.factored.findings import Findings
from orchestrator.search.factored.probes import SETTLING
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

    assert search._racing.best_s == pytest.approx(min(map(reached_s, trained)))


def test_a_target_that_nothing_reaches_is_noted() -> None:
    here = to_target(at_least("val_acc", 0.999), epochs=9)
    search = Factored().start(here)
    Machine(TRUTH, here).run(search)
    (note,) = search.notes()
    assert note.startswith("no curve reached val_acc 0.999 in 9 epochs; the best got to 0.9")


def made(*curves: list[float], **changes: Any) -> Findings:  # noqa: ANN401
    """Findings with a curve of so many epochs for each list of accuracies."""
    objectives = (minimize("time_to_accuracy_s"), maximize("val_acc"))
    findings = simulated.findings(objectives=objectives, **changes)
    for number, figures in enumerate(curves):
        curve = findings.curve((number,))
        for epoch, figure in enumerate(figures, start=1):
            curve.seen(epoch, (figure,))
    return findings


@pytest.mark.parametrize(
    ("changes", "value"),
    [
        ({}, 0.9865),
        ({"accuracy_tolerance": 0.01}, 0.9815),
        ({"rule": fastest_within("val_acc", 0.02)}, 0.9715),
        ({"rule": fastest_within("val_acc", 0.1, relative=True)}, 0.9 * 0.9915),
        ({"target": maximize("val_acc", tolerance=0.03)}, 0.9615),
        ({"target": 0.9}, 0.9),
    ],
)
def test_what_is_raced_to_is_what_tables_count_to(changes: dict[str, Any], value: float) -> None:
    """Near the best figure of any epoch, a peak among them."""
    findings = made([0.98, 0.9915, 0.99], [0.97, 0.975, 0.98], **changes)
    target = findings.goals.target
    assert target is not None
    assert value_to_reach(findings, target) == pytest.approx(value)


NOISE = 0.16


def searched(spread: float, seed: int = 1) -> tuple[Machine, FactoredSearch]:
    search = Factored().start(problem())
    return Machine(Truth(seed, spread=spread), problem(), draw=seed).run(search), search


def num_probes(machine: Machine) -> tuple[int, int]:
    """Return the probes before the first curve that is compared, and those after it."""
    asked = [trial for trial, _ in machine.results]
    first = next(i for i, trial in enumerate(asked) if trial.budget.pause_after is not None)
    stages = [trial.stage for trial in asked]
    return stages[:first].count(Stage.PROBE), stages[first:].count(Stage.PROBE)


@pytest.mark.parametrize("seed", range(3))
def test_speeds_that_differ_from_run_to_run_are_probed_for_a_share_of_the_time(seed: int) -> None:
    machine, _ = searched(NOISE, seed)
    before, after = num_probes(machine)
    trained = (result.wall_s or 0.0 for trial, result in machine.results if trial.stage == "train")
    each_s = machine.setup_s + machine.probe_s
    assert 0.2 * before < after <= math.ceil(max(before / 3, SETTLING * sum(trained) / each_s))


@pytest.mark.parametrize("seed", range(3))
def test_speeds_that_hardly_differ_are_known_soon(seed: int) -> None:
    assert sum(num_probes(searched(0.005, seed)[0])) < 2 * 36
