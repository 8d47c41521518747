"""All functions of one signature, and the differences that are documented."""

from __future__ import annotations

from typing import Final

from benchmarks.reliability.ray_tune import ending, reporting, surroundings
from benchmarks.reliability.ray_tune.cases import CASES

MODULES: Final = (reporting, ending, surroundings)
"""Their import notes the functions."""

FUNCTIONS: Final = CASES
"""Functions by name."""

DOCUMENTED: Final[dict[str, tuple[str, str]]] = {
    "reports nothing": ("failed", "reported none of what the sweep asks for"),
    "reports text alone": ("failed", "reported none of what the sweep asks for"),
    "reports an infinite figure": ("infeasible", "score is inf"),
    "reports nan": ("failed", "reported none of what the sweep asks for"),
    "reports a loss of nan": ("infeasible", "loss is nan"),
    "reports an accuracy in percent": ("failed", "divide it by 100"),
}
"""Differences that docs/own-trainable.md names: our state, and what its reason says."""
