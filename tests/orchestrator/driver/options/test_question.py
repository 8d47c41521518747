"""Options of the question, as they are read and as they change the sweep."""

from __future__ import annotations

from pathlib import Path

from orchestrator.cli import parse
from orchestrator.driver.options import DECLARATIONS
from orchestrator.search import SEARCHES


def test_the_help_names_every_search() -> None:
    assert all(name in DECLARATIONS["search"].help for name in SEARCHES)


def test_settings_may_be_repeated_and_the_file_may_stand_behind_them() -> None:
    options = parse(["--set", "a=1", "--set", "b=2", "s.py"])
    assert (options.set, options.sweep_file) == (("a=1", "b=2"), Path("s.py"))


def test_budgets_of_a_trial_are_fields_of_the_sweep() -> None:
    assert parse(["--epochs", "3", "--steps", "7"]).overrides().fields == {"epochs": 3, "steps": 7}


def test_prices_are_those_of_the_sweep() -> None:
    fields = parse(["--cost", "cpu_hour=2"]).overrides().fields
    assert fields == {"prices": {"cpu_hour": 2.0, "gpu_hour": 0.0}}
