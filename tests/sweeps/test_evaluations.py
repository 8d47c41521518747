"""How often the shipped sweeps evaluate: their curves are drawn from that."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import pytest

import sweeps
from orchestrator import Sweep
from orchestrator.space.configs import values_of

NAMES = [path.stem for path in Path(sweeps.__path__[0]).glob("[!_]*.py")]
ONCE = {"graph_memory"}
"""An evaluation takes half as long as an epoch there, and memory is what is asked about."""


@pytest.mark.parametrize("name", NAMES)
def test_each_curve_has_three_points_or_more(name: str) -> None:
    sweep: Sweep[Any] = importlib.import_module(f"sweeps.{name}").SWEEP
    every = values_of(sweep.baseline)["eval_every"]
    points = -(-sweep.epochs // every)
    assert points >= (1 if name in ONCE else 3)
    assert (points == 1) == (name in ONCE)
