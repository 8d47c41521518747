"""Further probes of the front's settings: where chance orders them, and no more than that."""

from __future__ import annotations

import math

import pytest

from orchestrator.search import Factored
from orchestrator.search.factored.probes import SETTLING
from orchestrator.search.factored.search import FactoredSearch
from orchestrator.trial import Stage
from tests.orchestrator.search.factored.simulated import Machine, Truth, problem

NOISE = 0.16


def searched(spread: float, seed: int = 1) -> tuple[Machine, FactoredSearch]:
    search = Factored().start(problem())
    assert isinstance(search, FactoredSearch)
    return Machine(Truth(seed, spread=spread), problem(), draw=seed).run(search), search


def num_probes(machine: Machine) -> tuple[int, int]:
    """Return the probes before the first training, and those after it."""
    stages = [trial.stage for trial, _ in machine.results]
    first = stages.index(Stage.TRAIN)
    return stages[:first].count(Stage.PROBE), stages[first:].count(Stage.PROBE)


@pytest.mark.parametrize("seed", range(3))
def test_speeds_that_differ_from_run_to_run_are_probed_until_a_third_more(seed: int) -> None:
    before, after = num_probes(searched(NOISE, seed)[0])
    assert 0.2 * before < after <= math.ceil(SETTLING * before)


@pytest.mark.parametrize("seed", range(3))
def test_speeds_that_hardly_differ_are_known_already(seed: int) -> None:
    assert num_probes(searched(0.005, seed)[0])[1] == 0


def test_more_probes_find_a_faster_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    """Over all groups and ten draws, against a search that does not settle."""
    settled = given_away()
    monkeypatch.setattr("orchestrator.search.factored.probes.SETTLING", 0)
    assert settled < given_away()


def given_away() -> float:
    """Return the speed that the chosen settings lack, summed."""
    lost = 0.0
    for seed in range(10):
        machine, search = searched(NOISE, seed)
        findings = search._findings
        for group in findings.factors.groups:
            speeds = {
                setting: machine.truth.speed(findings.config(group.to_probe(setting)[0]))
                for setting in group.settings
            }
            lost += 1 - speeds[findings.fastest(group)] / max(speeds.values())
    return lost
