"""Curves at a rung: what violates a condition is last, and what has no figure is never best."""

from __future__ import annotations

import math

import pytest

from orchestrator.metrics import at_most, maximize
from orchestrator.search.stopping.halving import Aim, Rung

FIGURES = {
    "a": {"val_acc": 0.7, "peak_rss_gib": 4.0},
    "too large": {"val_acc": 0.9, "peak_rss_gib": 12.0},
    "larger": {"val_acc": 0.95, "peak_rss_gib": 30.0},
    "diverged": {"val_acc": math.nan, "peak_rss_gib": 4.0},
    "b": {"val_acc": 0.8, "peak_rss_gib": 8.0},
    "silent": {"peak_rss_gib": 4.0},
    "not measured": {"val_acc": 0.75},
}
ORDER = ["b", "not measured", "a", "larger", "too large"]


@pytest.mark.parametrize("keep", range(8))
def test_those_that_hold_come_first(keep: int) -> None:
    rung = Rung(Aim(goals=(maximize("val_acc"),), bounds=(at_most("peak_rss_gib", 8.0),)))
    for name, metrics in FIGURES.items():
        rung.add(name, metrics)
    assert rung.best(keep) == set(ORDER[:keep])


def test_one_that_comes_once_more_keeps_its_place() -> None:
    rung = Rung(Aim(goals=(maximize("val_acc"),)))
    for name in ("a", "b"):
        rung.add(name, {"val_acc": 0.5})
    rung.add("a", {"val_acc": 0.5})
    assert rung.best(1) == {"a"}
