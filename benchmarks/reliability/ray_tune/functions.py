"""All functions of one signature, and the differences that are documented."""

from __future__ import annotations

from typing import Final

from benchmarks.reliability.ray_tune import ending, processes, reporting, surroundings
from benchmarks.reliability.ray_tune.cases import CASES

MODULES: Final = (reporting, ending, surroundings, processes)
"""Their import notes the functions."""

FUNCTIONS: Final = CASES
"""Functions by name."""

NO_OBJECTIVE: Final = "reported none of what the sweep asks for"

NO_RAY: Final = "a trial has no Ray"

DOCUMENTED: Final[dict[str, tuple[str, str, str]]] = {
    "reports nothing": ("failed", NO_OBJECTIVE, NO_OBJECTIVE),
    "reports text alone": ("failed", NO_OBJECTIVE, NO_OBJECTIVE),
    "ends by exit 0": ("completed", "", "plain Ray Tune calls it an error"),
    "reports an infinite figure": ("infeasible", "score is inf", "an infinite figure"),
    "reports a number beyond all floats": ("infeasible", "huge is inf", "an infinite figure"),
    "reports odd names": ("completed", "", "a name is bounded, and its line breaks are escaped"),
    "ray is started": ("completed", "", NO_RAY),
    "ray keeps an object": ("failed", NO_RAY, NO_RAY),
    "ray runs a task": ("failed", NO_RAY, NO_RAY),
    "sets a signal handler": ("completed", "", "under plain Ray Tune it fails in a thread"),
    "reports a loss of nan": ("infeasible", "loss is nan", "a loss that is not a number"),
    "reports an accuracy in percent": ("failed", "divide it by 100", "divide it by 100"),
    "reports changing figures": (
        "completed",
        "",
        "the row keeps a figure that a report leaves out",
    ),
}
"""Differences that docs/own-trainable.md names: our state, a part of its reason, and what it is."""
