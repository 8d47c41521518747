"""Checks of a sweep's ``stopping``: what ends its trials early."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from orchestrator.errors import nearest
from orchestrator.metric_table import DERIVED
from orchestrator.metrics import Objective
from orchestrator.search.stopping import Asha
from orchestrator.sweep.definition import Sweep
from orchestrator.sweep.objectives import known_metrics
from orchestrator.sweep.values import Finding, refused

_FIELD = "stopping"


def stopping_findings(sweep: Sweep[Any]) -> Iterator[Finding]:
    """Yield everything that is wrong with the stopping of a sweep, or with it for the sweep."""
    stopping = sweep.stopping
    if stopping is None:
        return
    if not isinstance(stopping, Asha):
        text = " = Asha is a class" if stopping is Asha else refused(stopping)
        yield _FIELD, text, 'allowed: Asha("val_acc"), Asha(), ..., or None'
        return
    if getattr(sweep.search, "has_rungs", False):
        text = f" does not go with search={type(sweep.search).__name__}(), which has its own rungs"
        yield _FIELD, text, "allowed: None, or another search"
    if isinstance(sweep.epochs, int) and not stopping.rungs(sweep.epochs):
        yield _of_rungs(stopping, sweep.epochs)
    if all(isinstance(objective, Objective) for objective in sweep.objectives):
        yield from _of_metrics(sweep, stopping)


def _of_rungs(stopping: Asha, epochs: int) -> Finding:
    trial = f"a trial of {epochs} epoch{'s' if epochs != 1 else ''}"
    if stopping.grace is None or epochs < 2:
        return _FIELD, f": {trial} cannot end early", "allowed: epochs of at least 2, or None"
    text = f": grace = {stopping.grace} epochs leave no rung within {trial}"
    return (
        _FIELD,
        text,
        f"allowed: grace < {epochs}, or None: the epochs by {stopping.factor} twice",
    )


def _of_metrics(sweep: Sweep[Any], stopping: Asha) -> Iterator[Finding]:
    goals = [o.metric for o in sweep.objectives if o.bound is None]
    for name in stopping.unknown(sweep.objectives):
        text = f": {name!r} is no objective of the sweep{nearest(name, goals)}"
        yield (
            _FIELD,
            text,
            f"allowed: {', '.join(goals)}, or another as maximize(...) or minimize(...)",
        )
    if stopping.unknown(sweep.objectives):
        return
    known = known_metrics(sweep.trainable)
    derived = {metric.name for metric in DERIVED}
    for goal in stopping.aim(sweep.objectives).goals:
        if goal.metric not in known:
            text = f": unknown metric {goal.metric!r}{nearest(goal.metric, known)}"
            yield _FIELD, text, f"allowed: {', '.join(known)}"
        elif goal.metric in derived or goal.metric.startswith("test_"):
            text = f": {goal.metric} is in no report of a trial that still trains"
            yield _FIELD, text, 'allowed: name what is, Asha("val_acc") say'
