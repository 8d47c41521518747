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
