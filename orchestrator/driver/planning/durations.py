"""The expected duration of a trial: by the tables of earlier runs, else as the sweep file states.

A trial holds its cores longer than its ``wall_s``: after its training its loader and its model
are measured separately. So the duration is the time until another trial could start.
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

from orchestrator.driver.request import DEFAULT_RUNS, Request
from orchestrator.errors import RunDirectoryError
from orchestrator.space.configs import domains_of, values_of
from orchestrator.storage.files import RunFile
from orchestrator.storage.sweep_record import SweepRecord, read_sweep
from orchestrator.sweep.definition import Sweep
from orchestrator.trial import Stage, TrialState

_ROUNDING_S = 0.001
"""Resolution of the times in the tables."""


@dataclass(frozen=True, kw_only=True)
class Earlier:
    """Durations of completed trials of earlier runs.

    Attributes:
        num_trials: How many there are.
        median_s: Their median, from a trial's start to the start of the one after it.
    """

    num_trials: int
    median_s: float


def earlier_trials(
    runs: Iterable[Path], sweep: Sweep[Any], num_cores: int, data: str
) -> Earlier | None:
    """Return the durations of a sweep's completed trials in earlier runs; None without any.

    Trials with its budget, its fixed knobs, ``num_cores`` cores and this data set count.

    Args:
        runs: Run directories.
        sweep: The sweep.
        num_cores: Cores of every trial.
        data: Name of the data set, or empty.
    """
    taken = [seconds for run in runs for seconds in _taken_s(run, sweep, num_cores, data)]
    return Earlier(num_trials=len(taken), median_s=median(taken)) if taken else None


def earlier_of(request: Request, num_cores: int, data: str) -> Earlier | None:
    """Return the durations of trials like those of a request; for a replay, the recorded ones."""
    if request.replay is not None:
        trials_s = request.replay.trials_s
        return Earlier(num_trials=len(trials_s), median_s=median(trials_s) if trials_s else 0.0)
    runs = {run.resolve(): run for run in sorted((DEFAULT_RUNS / request.file.stem).glob("*"))}
    if (resumed := request.options.resume) is not None:
        runs[resumed.resolve()] = resumed
    return earlier_trials(runs.values(), request.sweep, num_cores, data)


def expected_trial_s(request: Request, num_cores: int, data: str) -> float | None:
    """Return the seconds that a trial is expected to take; None where nothing is known."""
    earlier = earlier_of(request, num_cores, data)
    return request.sweep.trial_s.get(data) if earlier is None else earlier.median_s


def _taken_s(run: Path, sweep: Sweep[Any], num_cores: int, data: str) -> Iterator[float]:
    # A run that is not readable, or of another version, only means that less is known.
    with suppress(RunDirectoryError, OSError, ValueError, KeyError, TypeError, csv.Error):
        if not _is_alike(read_sweep(run), sweep, data):
            return
        text = (run / RunFile.TRIALS_TEXT).read_text("utf-8")
        table = csv.DictReader(io.StringIO(text, newline=""))
        rows = [row for row in table if row["started_at"] and row["wall_s"]]
        starts = sorted(map(_started, rows))
        for row in rows:
            trained = row["stage"] != Stage.PROBE and row["state"] == TrialState.COMPLETED
            trained &= row.get("tags.interleaved") != "true"  # its start and end lie slices apart
            if trained and row["cores"] == str(num_cores):
                end = _started(row) + float(row["wall_s"])
                after = bisect_left(starts, end - _ROUNDING_S)
                yield (starts[after] if after < len(starts) else end) - _started(row)


def _is_alike(record: SweepRecord, sweep: Sweep[Any], data: str) -> bool:
    varied = domains_of(sweep.space)
    fixed = {name: v for name, v in values_of(sweep.space).items() if name not in varied}
    plain = json.loads(json.dumps(fixed, default=str))
    asked = (record.budget, record.data, record.fixed)
    return asked == (sweep.budget, data, plain) and not record.replayed


def _started(row: Mapping[str, str]) -> float:
    return datetime.fromisoformat(row["started_at"]).timestamp()
