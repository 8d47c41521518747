"""What earlier trials of a sweep took, read from the tables of its earlier runs."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from orchestrator.trial import Budget, Stage, TrialState


@dataclass(frozen=True, kw_only=True)
class Earlier:
    """Durations of completed trials with the same budget and cores.

    Attributes:
        num_trials: How many there are.
        median_wall_s: Their median, from a trial's start to its end.
    """

    num_trials: int
    median_wall_s: float


def earlier_trials(runs: Path, budget: Budget, num_cores: int) -> Earlier | None:
    """Durations of the completed trials under ``runs``, or None where there are none.

    Args:
        runs: Folder of the run directories of one sweep.
        budget: Budget that a trial must have had to count.
        num_cores: Cores that it must have had.
    """
    walls = [wall for run in sorted(runs.glob("*")) for wall in _walls(run, budget, num_cores)]
    if not walls:
        return None
    return Earlier(num_trials=len(walls), median_wall_s=median(walls))


def _walls(run: Path, budget: Budget, num_cores: int) -> Iterator[float]:
    # A run that is not readable, or of another version, only means that less is known.
    with suppress(OSError, ValueError, KeyError, TypeError):
        sweep = json.loads((run / "sweep.json").read_text())
        if Budget(**sweep["budget"]) != budget:
            return
        with (run / "trials.csv").open(newline="") as file:
            for row in csv.DictReader(file):
                trained = row["stage"] != Stage.PROBE and row["state"] == TrialState.COMPLETED
                if trained and row["cores"] == str(num_cores) and row["wall_s"]:
                    yield float(row["wall_s"])
