"""What earlier trials of a sweep took, read from the tables of its earlier runs."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from orchestrator.trial import Budget, Stage, TrialState


@dataclass(frozen=True, kw_only=True)
class Earlier:
    """Durations of completed trials of one :class:`Kind`.

    Attributes:
        num_trials: How many there are.
        median_wall_s: Their median, from a trial's start to its end.
    """

    num_trials: int
    median_wall_s: float


@dataclass(frozen=True, kw_only=True)
class Kind:
    """What trials must have in common for their durations to be compared.

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

    def has(self, sweep: Mapping[str, Any]) -> bool:
        """Whether a run's trials are of it but for their cores, by its ``sweep.json``."""
        fixed = json.loads(json.dumps(dict(self.fixed), default=str))
        return (
            Budget(**sweep["budget"]) == self.budget
            and sweep["data"] == self.data
            and sweep["fixed"] == fixed
        )


def earlier_trials(runs: Path, kind: Kind) -> Earlier | None:
    """Durations of the completed trials under ``runs``, or None where there are none.

    Args:
        runs: Folder of the run directories of one sweep.
        kind: What a trial must be of to count.
    """
    walls = [wall for run in sorted(runs.glob("*")) for wall in _walls(run, kind)]
    if not walls:
        return None
    return Earlier(num_trials=len(walls), median_wall_s=median(walls))


def _walls(run: Path, kind: Kind) -> Iterator[float]:
    # A run that is not readable, or of another version, only means that less is known.
    with suppress(OSError, ValueError, KeyError, TypeError):
        sweep = json.loads((run / "sweep.json").read_text())
        if not kind.has(sweep):
            return
        with (run / "trials.csv").open(newline="") as file:
            for row in csv.DictReader(file):
                trained = row["stage"] != Stage.PROBE and row["state"] == TrialState.COMPLETED
                if trained and row["cores"] == str(kind.num_cores) and row["wall_s"]:
                    yield float(row["wall_s"])
