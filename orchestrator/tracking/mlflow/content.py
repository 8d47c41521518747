"""The history of a sweep in MLflow's terms: params, metric points and tags.

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
COMPOSED_TAG = "sweep.composed"
"""Tag of the parent of a factored sweep: what its front and recommendation are made of."""

COMPOSED_NOTE = (
    "front and recommendation are composed: speeds from probes, accuracies from learning curves; "
    "see composed.csv among the artifacts"
)

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
    """The key of a point within its run."""

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
        """Return its key within its run."""
        return Place(self.name, self.at_ms, self.step)


def milliseconds(at: float | None) -> int:
    """Return a Unix time in MLflow's unit."""
    return round((at or 0.0) * 1000)


def attempt(trial: TrialHistory) -> str:
    """Return the key of a trial's last start; empty for one that was never started."""
    return "" if trial.started_at is None else str(milliseconds(trial.started_at))


def params(trial: TrialHistory) -> dict[str, str]:
    """Return a trial's config as text."""
    return {_name(k): cell_text(v)[:_MAX_TEXT] for k, v in trial.trial.config.items()}


def tags(trial: TrialHistory) -> dict[str, str]:
    """Return the columns of a trial's row that are neither params nor metrics, as far as known."""
    # MLflow never takes a tag back: one that may yet change is left out.
    row = trial.asked() if trial.concluded is None else trial.row()
    known = {name: row[name] for name in TRIAL_COLUMNS[1:] if name in row}
    verdicts = {k.removeprefix("tags."): v for k, v in row.items() if k.startswith("tags.")}
    texts = {_name(k): cell_text(v)[:_MAX_TEXT] for k, v in {**verdicts, **known}.items()}
    place = {ATTEMPT_TAG: attempt(trial), INDEX_TAG: str(trial.index)}
    return {**texts, **place, TRIAL_TAG: trial.trial.id}


def points(trial: TrialHistory, num_known: int = 0) -> list[Point]:
    """Return the figures of a trial's reports after the first ``num_known``, and of its result.

    Of the result only figures that its reports do not end with already, so that none is
    there twice; they come last, because MLflow shows the latest.
    """
    known = (*_reported(trial, num_known), *_concluded(trial))
    return [point._replace(name=_name(point.name)) for point in known]


def _reported(trial: TrialHistory, num_known: int) -> Iterator[Point]:
    for at, report in trial.reports[num_known:]:
        for name, value in report.metrics.items():
            yield Point(name, float(value), milliseconds(at), report.step)


def _concluded(trial: TrialHistory) -> Iterator[Point]:
    result = trial.concluded
    if result is None:
        return
    at_ms, step, reported = milliseconds(trial.finished_at), 0, dict[str, float]()
    for at, report in trial.reports:
        at_ms, step = max(at_ms, milliseconds(at) + 1), report.step
        reported |= report.metrics
    for name, value in result.metrics.items():
        if name not in reported or not _same(float(reported[name]), float(value)):
            yield Point(name, float(value), at_ms, step)


def _same(a: float, b: float) -> bool:
    return a == b or (math.isnan(a) and math.isnan(b))


def child_name(trial: TrialHistory, varied: Iterable[str]) -> str:
    """Return a short name for MLflow's list of runs: the id and what varies."""
    config = trial.trial.config
    shown = [f"{name}={cell_text(config[name])}" for name in varied if name in config]
    return " ".join([trial.trial.id[:6], *shown])[:250]


def parent_tags(
    history: SweepHistory, run_dir: str, *, is_composed: bool = False
) -> dict[str, str]:
    """Return the parent run's tags, which describe the sweep.

    Args:
        history: The sweep.
        run_dir: Its run directory.
        is_composed: True for a factored search.
    """
    sweep = history.sweep
    git = sweep.git or {}
    texts = {
        SWEEP_TAG: history.key,
        "mlflow.user": user(),
        "mlflow.source.name": sweep.file,
        "mlflow.source.type": "LOCAL",
        "mlflow.source.git.commit": git.get("commit"),
        "mlflow.note.content": _description(sweep, run_dir, is_composed=is_composed),
        COMPOSED_TAG: COMPOSED_NOTE if is_composed else None,
        "sweep.name": sweep.name,
        "sweep.run_dir": run_dir,
        "sweep.git_dirty": git.get("dirty"),
        "trainable": sweep.trainable,
        "data": sweep.data,
        "data_note": sweep.data_note,
    }
    return {k: cell_text(v)[:_MAX_TEXT] for k, v in texts.items() if v not in (None, "")}


def _description(sweep: SweepRecord, run_dir: str, *, is_composed: bool) -> str:
    """Return Markdown, which MLflow shows at the top of the run's page."""
    lines = [sweep.question]
    if sweep.data_note:
        lines.append(f"**Data: {sweep.data_note}**")
    lines += [f"- `{name}`: {text}" for name, text in sweep.space.items()]
    if is_composed:
        lines.append(f"{COMPOSED_NOTE[0].upper()}{COMPOSED_NOTE[1:]}.")
    command = shlex.join(sweep.command_line)
    return "\n\n".join([*lines, f"    {command}", f"Run directory: `{run_dir}`"])


def parent_status(exit_code: int) -> Status:
    """Return the status of the parent for the driver's exit code."""
    if exit_code == 0:
        return Status.FINISHED
    return Status.KILLED if exit_code in (130, 143) else Status.FAILED


def _name(name: str) -> str:
    """Return ``name`` without the characters that MLflow does not take."""
    return _NOT_IN_NAMES.sub("_", name)


def user() -> str:
    """Return the name of the user, as MLflow shows it."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a container's user without a name
        return "unknown"
