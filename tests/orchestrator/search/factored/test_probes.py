"""Probes of many settings: a model of their speeds selects them, and an audit checks the model."""

import math
import random
from collections.abc import Mapping
from typing import Any

import pytest

from orchestrator.metrics import maximize, minimize
from orchestrator.search import Factored
from orchestrator.search.factored.factors import Group
from orchestrator.search.factored.search import FactoredSearch
from orchestrator.trial import Stage
from tests.orchestrator.search.factored.simulated import LARGE, Machine, Truth, problem

NUM_SETTINGS = 320


class Scattered(Truth):
    """Speeds without any pattern: nothing follows from the speeds of other settings."""

    def speed(self, config: Mapping[str, Any]) -> float:
        """Return the true speed, samples/s."""
        setting = sorted((k, v) for k, v in config.items() if k not in ("lr", "batch"))
        return super().speed(config) * random.Random(repr(setting)).choice((0.2, 1.0, 5.0))


def searched(truth: Truth, **changes: object) -> tuple[Machine, FactoredSearch, list[str]]:
    """Return the machine and the search at its end, and its notes."""
    here = problem(LARGE, seed=truth.seed, **changes)
    search = Factored().start(here)
    machine = Machine(truth, here, draw=truth.seed).run(search)
    return machine, search, search.notes()


def num_probed(machine: Machine) -> int:
    """Return the number of settings that were probed."""
    return sum(t.stage is Stage.PROBE and t.repeat == 0 for t, _ in machine.results)


def lost(search: FactoredSearch, truth: Truth, group: Group) -> float:
    """Return the share of speed that the fastest setting found lacks to the true fastest one."""
    findings = search._findings
    true = {each: truth.speed(findings.config(group.to_probe(each))) for each in group.settings}
    return 1 - true[findings.fastest(group)] / max(true.values())


@pytest.mark.parametrize("seed", range(2))
def test_a_part_of_many_settings_is_probed_and_the_fastest_are_found(seed: int) -> None:
    truth = Truth(seed)
    machine, search, notes = searched(truth)
    assert num_probed(machine) < NUM_SETTINGS * 2 / 3
    assert any("settings are not probed: by a model" in note for note in notes)
    assert max(lost(search, truth, group) for group in search._findings.factors.groups) < 0.05


def test_each_setting_is_probed_where_the_audit_shows_that_the_model_is_wrong() -> None:
    machine, _, notes = searched(Scattered(1, spread=0.01))
    assert num_probed(machine) == NUM_SETTINGS
    assert any("was wrong for" in note for note in notes)


def test_each_setting_is_probed_where_another_figure_of_it_counts() -> None:
    objectives = [maximize("samples_per_s"), maximize("val_acc"), minimize("peak_rss_gib")]
    machine, _, notes = searched(Truth(1), objectives=objectives)
    assert (num_probed(machine), notes) == (NUM_SETTINGS, [])


def test_settings_that_never_run_end_the_search() -> None:
    truth = Truth(1, infeasible=lambda config: True)
    machine, search, _ = searched(truth)
    assert num_probed(machine) == NUM_SETTINGS
    assert all(math.isinf(search._findings.log_speed(g)) for g in search._findings.factors.groups)
