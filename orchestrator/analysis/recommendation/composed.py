"""Notes on a composed recommendation, and the whole table of composed configs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import pandas as pd

from orchestrator.analysis.comparable import GROUP
from orchestrator.analysis.composition.compose import COMPOSED
from orchestrator.analysis.tables.run_tables import RunTables
from orchestrator.analysis.wording import counted
from orchestrator.trial import TrialState

SIGN: Final = "†"
"""Stands behind figures of configs that were not themselves both trained and probed."""

_IDS: Final = ("speed_ids", "curve_ids")
_LEFT_OUT: Final = ("trial_ids", "timed_ids")
"""Columns that the ids of probes and curves say already."""


def sign_of(row: Mapping[Any, Any]) -> str:
    """Return the sign behind a composed figure, or ""."""
    return f" {SIGN}" if row.get(COMPOSED, False) else ""


def rests_on(row: Mapping[Any, Any], learned: str) -> str:
    """Return ``speed from 4 probes, accuracy from 1 curve`` for a composed config's row."""
    probes, curves = int(row["num_runs"]), int(row["num_all_runs"])
    return f"speed from {counted(probes, 'probe')}, {learned} from {counted(curves, 'curve')}"


def composed_notes(row: Mapping[Any, Any], learned: str, *, is_trained: bool) -> list[str]:
    """Return the note on a recommended config that was not itself both trained and probed.

    Args:
        row: Its row among the configs that were searched.
        learned: ``accuracy``, or what else was learned.
        is_trained: True where confirm runs trained it end to end.
    """
    if not row.get(COMPOSED, False):
        return []
    since = "; confirm runs trained it since" if is_trained else ""
    return [f"selected by composed figures, {rests_on(row, learned)}{since}"]


def composed_table(tables: RunTables) -> pd.DataFrame:
    """Return what ``composed.parquet`` holds: every config whose speed and curve are known.

    ``state`` is ``completed``, or ``stopped`` where the curve was: its accuracy is not a final
    one. ``group``, ``verdict`` and ``on_front`` are as in the report. Figures that no config has
    are left out.
    """
    stopped = tables.composed(TrialState.STOPPED)
    parts = [
        tables.ranked.assign(state=str(TrialState.COMPLETED)),
        stopped.assign(state=str(TrialState.STOPPED), verdict="", on_front=False),
    ]
    known = [part for part in parts if len(part)]
    table = pd.concat(known, ignore_index=True) if known else parts[0]
    first = ["state", GROUP, COMPOSED, "on_front", "verdict"]
    known_figures = table.columns[table.notna().any()]
    others = [name for name in known_figures if name not in (*first, *_LEFT_OUT)]
    table = table[[*first, *others]]
    return table.assign(**{name: table[name].map(" ".join) for name in _IDS if name in table})
