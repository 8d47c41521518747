"""The recordings of a tuning sweep: all its speeds, all its curves."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

from orchestrator import NODE, Isolation, Sweep
from orchestrator.search import Grid
from orchestrator.space.configs import replaced

NUM_RUNS: Final = 3


def speeds_of(tuning: Sweep[Any], **learning: object) -> Sweep[Any]:
    """Return the sweep that times every setting of ``tuning`` in short runs, each isolated.

    Args:
        tuning: The tuning sweep.
        **learning: Values of its learning knobs, which change no speed.
    """
    recorded = _recorded(tuning, learning)
    return replace(
        recorded,
        question="How fast is each setting?",
        rigor=replace(recorded.rigor, half_width=0.05),
        cores_per_trial=NODE,
        isolation=Isolation.EXCLUSIVE,
    )


def curves_of(tuning: Sweep[Any], **systems: object) -> Sweep[Any]:
    """Return the sweep that trains every way to learn of ``tuning``, each in one thread.

    Args:
        tuning: The tuning sweep.
        **systems: Values of its systems knobs, which change nothing that is learned.
    """
    recorded = _recorded(tuning, {"threads": 1, **systems})
    return replace(
        recorded,
        question="What accuracy does each way to learn reach, epoch by epoch?",
        cores_per_trial=1,
        isolation=Isolation.SHARED,
    )


def _recorded(tuning: Sweep[Any], fixed: dict[str, Any]) -> Sweep[Any]:
    """Return the grid over what is left of a sweep's space, without stages after it."""
    return replace(
        tuning,
        space=replaced(tuning.space, fixed),
        baseline=replaced(tuning.baseline, fixed),
        search=Grid(),
        rigor=replace(
            tuning.rigor,
            repeats=NUM_RUNS,
            max_repeats=NUM_RUNS,
            confirm=0,
            check_isolated=0,
        ),
        trial_s={},
    )
