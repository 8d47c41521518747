"""Durations of a sweep's earlier trials, read from the tables of its earlier runs.

A trial holds its cores longer than its ``wall_s``: after its training its loader and its model
are measured on their own. So the duration is the time until another trial could start.
"""

from __future__ import annotations

import csv
import io
import json
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from statistics import median
from typing import Any

from orchestrator.errors import RunDirectoryError
from orchestrator.storage.files import RunFile
from orchestrator.storage.sweep_record import SweepRecord, read_sweep
from orchestrator.trial import Budget, Stage, TrialState

_ROUNDING_S = 0.001
"""Resolution of the times in the tables."""


@dataclass(frozen=True, kw_only=True)
class Earlier:
    """Durations of completed trials of one :class:`Kind`.

    Attributes:
        num_trials: How many there are.
        median_s: Their median, from a trial's start to the start of the one after it.
    """

    num_trials: int
    median_s: float


@dataclass(frozen=True, kw_only=True)
class Kind:
    """The properties that trials must share for their durations to be compared.

    Attributes:
        budget: How long they train.
        num_cores: Cores of each.
        data: Name of the data set, empty for none.
        fixed: Values of the knobs that do not vary.
    """

    budget: Budget
    num_cores: int
    data: str
    fixed: Mapping[str, Any]

    def has(self, sweep: SweepRecord) -> bool:
        """Return True if a run's trials are of this kind, whatever their cores."""
        fixed = json.loads(json.dumps(dict(self.fixed), default=str))
        asked = (sweep.budget, sweep.data, sweep.fixed)
        return asked == (self.budget, self.data, fixed) and not sweep.replayed


def earlier_trials(runs: Iterable[Path], kind: Kind) -> Earlier | None:
    """Return the durations of the completed trials of ``runs``, or None without any.

    Args:
        runs: Run directories of one sweep.
        kind: The kind of trial that counts.
    """
    taken = [seconds for run in runs for seconds in _taken_s(run, kind)]
    if not taken:
        return None
    return Earlier(num_trials=len(taken), median_s=median(taken))


def _taken_s(run: Path, kind: Kind) -> Iterator[float]:
    # A run that is not readable, or of another version, only means that less is known.
    with suppress(RunDirectoryError, OSError, ValueError, KeyError, TypeError, csv.Error):
        if not kind.has(read_sweep(run)):
            return
        table = csv.DictReader(
            io.StringIO((run / RunFile.TRIALS_TEXT).read_text("utf-8"), newline="")
        )
        rows = [row for row in table if row["started_at"] and row["wall_s"]]
        starts = sorted(map(_started, rows))
        for row in rows:
            trained = row["stage"] != Stage.PROBE and row["state"] == TrialState.COMPLETED
            trained &= row.get("tags.interleaved") != "true"  # its start and end lie slices apart
            if trained and row["cores"] == str(kind.num_cores):
                end = _started(row) + float(row["wall_s"])
                after = bisect_left(starts, end - _ROUNDING_S)
                yield (starts[after] if after < len(starts) else end) - _started(row)


def _started(row: Mapping[str, str]) -> float:
    return datetime.fromisoformat(row["started_at"]).timestamp()
