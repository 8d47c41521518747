"""The campaign of places: what it takes for right, and what not."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.reliability.places.__main__ import run
from benchmarks.reliability.places.machines import MACHINES
from benchmarks.reliability.places.signals import SIGNALS
from benchmarks.reliability.places.situations import SITUATIONS


def test_names_are_of_one_situation_each() -> None:
    names = [each.name for each in (*SITUATIONS, *MACHINES, *SIGNALS)]
    assert len(names) == len(set(names)) > 100


@pytest.mark.skipif(os.geteuid() != 0, reason="it takes the rights of root")
def test_what_is_refused_as_expected_is_right_and_else_it_is_not(tmp_path: Path) -> None:
    (refused,) = (each for each in SITUATIONS if each.name == "--out with an unknown variable")
    outcome = run(refused, tmp_path / "a", {})
    assert (outcome.code, outcome.wrong) == (2, []), outcome.output
    outcome = run(replace(refused, codes=(0,), says="never said"), tmp_path / "b", {})
    assert outcome.wrong == ["exit code 2", "does not say 'never said'"]
