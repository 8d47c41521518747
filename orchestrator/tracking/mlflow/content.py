"""A record of the journal as MLflow says it: params, metric points and tags.

Names are those of the trials table: ``params.lr`` there is the param ``lr`` here, and so
for metrics and tags, so that ``mlflow.search_runs`` gives columns of the same names. The
columns without a prefix are tags (``tags.state``); the trial's id is ``tags.sweep.trial_id``.
"""

from __future__ import annotations

import getpass
import math
import re
import shlex
from collections.abc import Iterable, Iterator
from enum import StrEnum
from typing import NamedTuple

from orchestrator.storage.history import TRIAL_COLUMNS, SweepHistory, TrialHistory, cell_text
from orchestrator.storage.sweep_record import SweepRecord
from orchestrator.trial import TrialState

SWEEP_TAG = "sweep.run"
"""Tag of the parent and of every child: which run of which sweep they are of."""
TRIAL_TAG = "sweep.trial_id"
ATTEMPT_TAG = "sweep.attempt"
"""Tag of a child: the time of the start that its points are of."""
INDEX_TAG = "sweep.index"
"""Tag of a child: its place in the order in which trials were asked for."""
PARENT_TAG = "mlflow.parentRunId"

_MAX_TEXT = 6000
_NOT_IN_NAMES = re.compile(r"[^\w\-. :/]")


class Status(StrEnum):
    """The words that MLflow has for a run's state."""

    RUNNING = "RUNNING"
    FINISHED = "FINISHED"
    FAILED = "FAILED"
    KILLED = "KILLED"


STATUS = {
    TrialState.COMPLETED: Status.FINISHED,
    TrialState.STOPPED: Status.FINISHED,
    TrialState.INFEASIBLE: Status.FAILED,
    TrialState.FAILED: Status.FAILED,
    TrialState.NOT_RUN: Status.KILLED,
}
"""Status of a child; its tag ``state`` says exactly."""


class Place(NamedTuple):
    """What tells a point of a run from all others of it."""

    name: str
    at_ms: int
    step: int


class Point(NamedTuple):
    """One figure at one step; ``at_ms`` comes from the journal, so it is always the same."""

    name: str
    value: float
    at_ms: int
    step: int

    @property
    def place(self) -> Place:
        """Where it is in its run."""
        return Place(self.name, self.at_ms, self.step)


def milliseconds(at: float | None) -> int:
    """A Unix time as MLflow counts it."""
    return round((at or 0.0) * 1000)


def attempt(record: TrialHistory) -> str:
    """Which start of a trial is meant; empty for one that was never started."""
    return "" if record.started_at is None else str(milliseconds(record.started_at))


def params(record: TrialHistory) -> dict[str, str]:
    """Its config as text."""
    return {_name(k): cell_text(v)[:_MAX_TEXT] for k, v in record.trial.config.items()}


def tags(record: TrialHistory) -> dict[str, str]:
    """The columns of its row that are neither params nor metrics, as far as known."""
    # MLflow never takes a tag back: what may yet change is not said.
    row = record.asked() if record.concluded is None else record.row()
    known = {name: row[name] for name in TRIAL_COLUMNS[1:] if name in row}
    verdicts = {k.removeprefix("tags."): v for k, v in row.items() if k.startswith("tags.")}
    texts = {_name(k): cell_text(v)[:_MAX_TEXT] for k, v in {**verdicts, **known}.items()}
    place = {ATTEMPT_TAG: attempt(record), INDEX_TAG: str(record.index)}
    return {**texts, **place, TRIAL_TAG: record.trial.id}


def points(record: TrialHistory, num_known: int = 0) -> list[Point]:
    """The figures of its reports after the first ``num_known``, and of its result.

    Of the result only figures that its reports do not end with already, so that none is
    there twice; they come last, because MLflow shows the latest.
    """
    found = (*_reported(record, num_known), *_concluded(record))
    return [point._replace(name=_name(point.name)) for point in found]


def _reported(record: TrialHistory, num_known: int) -> Iterator[Point]:
    for at, report in record.reports[num_known:]:
        for name, value in report.metrics.items():
            yield Point(name, float(value), milliseconds(at), report.step)


def _concluded(record: TrialHistory) -> Iterator[Point]:
    result = record.concluded
    if result is None:
        return
    at_ms, step, reported = milliseconds(record.finished_at), 0, dict[str, float]()
    for at, report in record.reports:
        at_ms, step = max(at_ms, milliseconds(at) + 1), report.step
        reported |= report.metrics
    for name, value in result.metrics.items():
        if name not in reported or not _same(float(reported[name]), float(value)):
            yield Point(name, float(value), at_ms, step)


def _same(a: float, b: float) -> bool:
    return a == b or (math.isnan(a) and math.isnan(b))


def child_name(record: TrialHistory, varied: Iterable[str]) -> str:
    """A short name for MLflow's list of runs: the id and what varies."""
    config = record.trial.config
    shown = [f"{name}={cell_text(config[name])}" for name in varied if name in config]
    return " ".join([record.trial.id[:6], *shown])[:250]


def parent_tags(record: SweepHistory, run_dir: str) -> dict[str, str]:
    """What the parent run says of the sweep."""
    sweep = record.sweep
    git = sweep.git or {}
    texts = {
        SWEEP_TAG: record.key,
        "mlflow.user": user(),
        "mlflow.source.name": sweep.file,
        "mlflow.source.type": "LOCAL",
        "mlflow.source.git.commit": git.get("commit"),
        "mlflow.note.content": _description(sweep, run_dir),
        "sweep.name": sweep.name,
        "sweep.run_dir": run_dir,
        "sweep.git_dirty": git.get("dirty"),
        "trainable": sweep.trainable,
        "data": sweep.data,
        "data_note": sweep.data_note,
    }
    return {k: cell_text(v)[:_MAX_TEXT] for k, v in texts.items() if v not in (None, "")}


def _description(sweep: SweepRecord, run_dir: str) -> str:
    """Markdown, which MLflow shows at the top of the run's page."""
    lines = [sweep.question]
    if sweep.data_note:
        lines.append(f"**Data: {sweep.data_note}**")
    lines += [f"- `{name}`: {text}" for name, text in sweep.space.items()]
    command = shlex.join(sweep.command_line)
    return "\n\n".join([*lines, f"    {command}", f"Run directory: `{run_dir}`"])


def parent_status(exit_code: int) -> Status:
    """Status of the parent for the driver's exit code."""
    if exit_code == 0:
        return Status.FINISHED
    return Status.KILLED if exit_code in (130, 143) else Status.FAILED


def _name(name: str) -> str:
    """``name`` without the characters that MLflow does not take."""
    return _NOT_IN_NAMES.sub("_", name)


def user() -> str:
    """Name of the user, as MLflow shows it."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a container's user without a name
        return "unknown"
