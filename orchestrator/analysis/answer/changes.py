"""The settings that differ from the baseline's, and a config named by them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from orchestrator.analysis.tables.run_tables import RunTables
from orchestrator.analysis.wording import counted
from orchestrator.space.configs import format_value
from orchestrator.space.knob import Role

MOST_NAMED: Final = 4
"""A sentence names no more settings than these."""


@dataclass(frozen=True, kw_only=True)
class Change:
    """A knob whose recommended value differs from the baseline's, both as ``--set`` takes them."""

    knob: str
    value: str
    baseline: str


def changes_of(config: Mapping[str, Any], tables: RunTables) -> tuple[Change, ...]:
    """Return the knobs of a config that differ, those that change the speed first."""
    baseline, roles = tables.sweep.baseline, tables.roles
    changes = [
        Change(knob=name, value=format_value(value), baseline=format_value(baseline[name]))
        for name, value in config.items()
        if name in baseline and format_value(value) != format_value(baseline[name])
    ]
    return tuple(sorted(changes, key=lambda change: roles.get(change.knob) is Role.LEARNING))


def named(changes: Sequence[Change]) -> str:
    """Return ``batch_size 2000 with lr 0.02 and num_workers 8``; "the baseline" without any."""
    if not changes:
        return "the baseline"
    shown = changes if len(changes) <= MOST_NAMED else changes[: MOST_NAMED - 1]
    first, *others = (f"{change.knob} {change.value}" for change in shown)
    if len(shown) < len(changes):
        others.append(counted(len(changes) - len(shown), "more setting"))
    if not others:
        return first
    *middle, last = others
    return f"{first} with {', '.join(middle)} and {last}" if middle else f"{first} with {last}"
