"""The history of a sweep in MLflow's terms: params, metric points and tags.

Names are those of the trials table: ``params.lr`` there is the param ``lr`` here, and so
for metrics and tags, so that ``mlflow.search_runs`` gives columns of the same names. The
columns without a prefix are tags (``tags.state``); the trial's id is ``tags.sweep.trial_id``.
"""

import getpass
import posixpath
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any, NamedTuple

from orchestrator.space.configs import changed_knobs, format_setting
from orchestrator.storage.history import TRIAL_COLUMNS, SweepHistory, TrialHistory, cell_text
from orchestrator.trial import Stage, TrialState

SWEEP_TAG = "sweep.run"
"""Tag of the parent and of every child: which run of which sweep they are of."""
TRIAL_TAG = "sweep.trial_id"
ATTEMPT_TAG = "sweep.attempt"
"""Tag of a child: the time of the start that its points are of."""
PARENT_TAG = "mlflow.parentRunId"
ROLE_TAG = "sweep.role"
"""Tag of a child: what its config is to the answer, of :data:`BASELINE_ROLE` and its like."""

BASELINE_ROLE, RECOMMENDED_ROLE, FRONT_ROLE = "baseline", "recommended", "front"

ANSWER_PREFIX = "answer."
"""Of a child's metric that is not of its trial: its config's speed, as the answer has it."""

MAX_TEXT = 6000
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
"""Status of a child; its tag ``state`` is exact."""


class Point(NamedTuple):
    """One figure at one step; ``at_ms`` comes from the journal, so it is always the same."""

    name: str
    value: float
    at_ms: int
    step: int


@dataclass
class Child:
    """The part of a trial that MLflow has.

    Attributes:
        run_id: MLflow's id of its run.
        attempt: The start of the trial that the run is of.
        role: The config's role in the answer, as MLflow has it.
        num_reports: Reports that were written.
        has_params: Whether its config was written.
        ended: State with which it was ended; empty while more is to be written.
    """

    run_id: str
    attempt: str
    role: str = ""
    num_reports: int = 0
    has_params: bool = False
    ended: str = ""


@dataclass(kw_only=True)
class MirroredRun:
    """A run and what MLflow has of it.

    Attributes:
        run_dir: Its run directory.
        history: Its events so far.
        parent_id: MLflow's id of the parent; empty before it is known.
        children: MLflow's part of the trials, by trial id.
    """

    run_dir: Path
    history: SweepHistory = field(default_factory=SweepHistory)
    parent_id: str = ""
    children: dict[str, Child] = field(default_factory=dict)


def milliseconds(at: float | None) -> int:
    """Return a Unix time in MLflow's unit."""
    return round((at or 0.0) * 1000)


def attempt(trial: TrialHistory) -> str:
    """Return the key of a trial's last start; empty for one that was never started."""
    return "" if trial.started_at is None else str(milliseconds(trial.started_at))


def params(trial: TrialHistory) -> dict[str, str]:
    """Return a trial's config as text."""
    return {mlflow_name(k): cell_text(v)[:MAX_TEXT] for k, v in trial.trial.config.items()}


def tags(trial: TrialHistory) -> dict[str, str]:
    """Return the columns of a trial's row that are neither params nor metrics, as far as known."""
    # MLflow never takes a tag back: one that may yet change is left out.
    row = trial.asked() if trial.concluded is None else trial.row()
    found = trial.result.found if trial.result else {}  # its params stay as they were asked for
    names = [*TRIAL_COLUMNS[1:], *(f"params.{knob}" for knob in found)]
    known = {name: row[name] for name in names if name in row}
    verdicts = {k.removeprefix("tags."): v for k, v in row.items() if k.startswith("tags.")}
    texts = {mlflow_name(k): cell_text(v)[:MAX_TEXT] for k, v in {**verdicts, **known}.items()}
    return {**texts, ATTEMPT_TAG: attempt(trial), TRIAL_TAG: trial.trial.id}


def points(trial: TrialHistory, num_known: int = 0) -> list[Point]:
    """Return the figures of a trial's reports after the first ``num_known``, and of its result.

    Figures of the result that its reports end with are left out. The others come last, because
    MLflow shows the latest.
    """
    found = [
        Point(name, float(value), milliseconds(at), report.step)
        for at, report in trial.reports[num_known:]
        for name, value in report.metrics.items()
    ]
    if (result := trial.concluded) is not None:
        at_ms, step, reported = milliseconds(trial.finished_at), 0, dict[str, float]()
        for at, report in trial.reports:
            at_ms, step = max(at_ms, milliseconds(at) + 1), report.step
            reported |= report.metrics
        found += [
            Point(name, float(value), at_ms, step)
            for name, value in result.metrics.items()
            # As text, in which NaN is NaN.
            if name not in reported or str(float(reported[name])) != str(float(value))
        ]
    return [point._replace(name=mlflow_name(point.name)) for point in found]


def child_name(trial: TrialHistory, baseline: Mapping[str, Any]) -> str:
    """Return a name for MLflow's list of runs: stage, repeat, and what differs from the baseline.

    ``confirm #2 batch_size=2000 lr=0.02``, as on the console: MLflow cuts the ends of long names.
    The stage ``train`` and the first run have no word; the trial's id is a tag.
    """
    one = trial.trial
    changed = [format_setting(n, one.config[n]) for n in changed_knobs(one.config, baseline)]
    stage = [] if one.stage is Stage.TRAIN else [str(one.stage)]
    repeat = [f"#{one.repeat + 1}"] if one.repeat else []
    return " ".join([*stage, *repeat, *(changed or [BASELINE_ROLE])])[:250]


def mlflow_name(name: str) -> str:
    """Return ``name`` as MLflow takes it: no other characters, and no path that it would change."""
    text = _NOT_IN_NAMES.sub("_", name)
    if text == posixpath.normpath(text) and not text.startswith(("/", ".")):
        return text
    return re.sub(r"^\.+", "_", text.replace("/", "_")) or "_"


def user() -> str:
    """Return the name of the user, as MLflow shows it."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a container's user without a name
        return "unknown"
