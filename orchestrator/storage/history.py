"""The history of a sweep so far: one record a trial, built event by event.

Tables, the console and MLflow all read a sweep through this, so that they agree on
which reports are void and on what is known of a trial.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from orchestrator.errors import RunDirectoryError
from orchestrator.kernel import events
from orchestrator.kernel.events import Event
from orchestrator.kernel.journal import read_journal
from orchestrator.storage.files import RunFile
from orchestrator.storage.sweep_record import SweepRecord
from orchestrator.trial import Report, Trial, TrialResult, TrialState

TRIAL_COLUMNS = (
    "trial_id", "stage", "state", "reason", "seed", "repeat", "data", "node", "device", "cores",
    "isolation", "started_at", "wall_s", "curve",
)  # fmt: skip
"""Columns of the trials table before those of knobs, metrics and tags."""
_TEXTS = ("reason", "node", "device", "isolation")


def cell_text(value: object) -> str:
    """Return a cell as text: tuples as ``10,25``, figures in full, times in ISO format."""
    if isinstance(value, (tuple, list)):
        return ",".join(str(item) for item in value)
    return value.isoformat(timespec="milliseconds") if isinstance(value, datetime) else str(value)


@dataclass(kw_only=True)
class TrialHistory:
    """The history of one trial.

    Attributes:
        trial: The trial as it was asked for.
        index: Number of trials that were asked for before it.
        data: Name of the data set it runs on.
        running: True where it was started and has not ended since.
        waits_for: The cause that keeps it from starting; empty where there is none.
        waits_since: Unix time since when it has waited.
        started_at: Unix time of its last start, or None.
        node: Host of its last start.
        cores: Cores of its last start, or None.
        reports: Time and content of each report that is not void.
        result: Its result, or None while that is open. A trial that was ``not_run`` keeps
            that result until it was run after all.
        finished_at: Unix time at which the result was journalled, or None.
    """

    trial: Trial
    index: int = 0
    data: str = ""
    running: bool = False
    waits_for: str = ""
    waits_since: float = 0.0
    started_at: float | None = None
    node: str = ""
    cores: int | None = None
    reports: list[tuple[float, Report]] = field(default_factory=list)
    result: TrialResult | None = None
    finished_at: float | None = None

    @property
    def begun(self) -> bool:
        """Return True if more has happened to it than that it was asked for."""
        return self.started_at is not None or self.result is not None

    @property
    def concluded(self) -> TrialResult | None:
        """Return its result; None while it runs, whatever it was before."""
        return None if self.running else self.result

    def figures(self) -> dict[str, float]:
        """Return the latest value of each metric: of its reports, then of its result."""
        latest = {name: v for _, report in self.reports for name, v in report.metrics.items()}
        return latest if self.concluded is None else {**latest, **self.concluded.metrics}

    @property
    def taken_s(self) -> float | None:
        """Return how long it kept others from its cores; None of one that was not run."""
        wall_s = None if self.result is None else self.result.wall_s
        if wall_s is None or self.started_at is None or self.finished_at is None:
            return wall_s
        return self.trial.taken_s(wall_s, self.finished_at - self.started_at)

    def apply(self, event: events.OfTrial) -> None:
        """Take in a wait, a start, a report or an end."""
        self.waits_for = ""
        if isinstance(event, events.Waiting):
            self.waits_for, self.waits_since = event.what, event.at - event.seconds
        elif isinstance(event, events.Started):
            restored = event.restored_epochs
            self.reports = [each for each in self.reports if each[1].epoch <= restored]
            self.started_at, self.running = event.at, True
            self.node, self.cores = event.node, event.cores or None
        elif isinstance(event, events.Reported):
            self.reports.append((event.at, event.report))
        elif isinstance(event, events.Finished):
            self.result, self.finished_at, self.running = event.result, event.at, False
        elif isinstance(event, events.Judged):
            self.result = event.result

    def row(self) -> dict[str, Any]:
        """Return its row of the trials table by column name; unknown cells are absent."""
        row = self.asked()
        if (result := self.result) is not None:
            at = result.started_at
            row |= {
                "state": result.state.value,
                **{name: getattr(result, name) or None for name in _TEXTS},
                "cores": result.cores,
                "started_at": None if at is None else datetime.fromtimestamp(at, UTC),
                "wall_s": result.wall_s,
                **{f"params.{knob}": value for knob, value in result.found.items()},
                **{f"tags.{tag}": verdict for tag, verdict in result.verdicts.items()},
            }
        if self.concluded is not None:
            row |= {f"metrics.{metric}": figure for metric, figure in self.figures().items()}
        return {name: value for name, value in row.items() if value is not None}

    def asked(self) -> dict[str, Any]:
        """Return the cells of its row that are known before it has ended."""
        trial = self.trial
        cells = {
            "trial_id": trial.id,
            "stage": trial.stage.value,
            "seed": trial.seed,
            "repeat": trial.repeat,
            "data": self.data or None,
            "curve": trial.curve or None,
            **{
                f"params.{knob}": cell_text(setting) if isinstance(setting, tuple) else setting
                for knob, setting in trial.config.items()
            },
        }
        return {name: value for name, value in cells.items() if value is not None}


@dataclass(kw_only=True)
class SweepHistory:
    """The history of a sweep.

    Attributes:
        key: Hash of the first event, by which a run of a sweep is known anywhere.
        began_at: Unix time of the first event, or None.
        trials: Records by trial id, in the order in which they were asked for.
        last_at: Unix time of the last event, or None.
        states: Trials that have a result and do not run now, by state.
        running: Trials that run now, by id.
        held_up: Trials that cannot start yet, by id.
        nodes: Hosts that trials were started on.
    """

    key: str = ""
    began_at: float | None = None
    trials: dict[str, TrialHistory] = field(default_factory=dict)
    last_at: float | None = None
    states: Counter[TrialState] = field(default_factory=Counter)
    running: dict[str, TrialHistory] = field(default_factory=dict)
    held_up: dict[str, TrialHistory] = field(default_factory=dict)
    nodes: set[str] = field(default_factory=set)
    _sweep: SweepRecord | None = None
    _taken_s: float = 0.0
    _num_taken: int = 0

    @property
    def num_concluded(self) -> int:
        """Return the number of trials that have a result and do not run now."""
        return self.states.total()

    @property
    def num_expected(self) -> int | None:
        """Return the trials to expect, no fewer than there are; None where the search decides."""
        planned = self.sweep.num_planned
        return None if planned is None else max(planned, len(self.trials))

    @property
    def mean_taken_s(self) -> float | None:
        """Return how long these kept others from their cores, on average; None without one."""
        return self._taken_s / self._num_taken if self._num_taken else None

    @property
    def has_begun(self) -> bool:
        """Return True once the first event, which describes the sweep, is known."""
        return self._sweep is not None

    @property
    def sweep(self) -> SweepRecord:
        """Return the sweep, of the process that runs it now; there is none before it began."""
        assert self._sweep is not None, "no event describes the sweep yet"
        return self._sweep

    def apply(self, event: Event) -> TrialHistory | None:
        """Take in one event; return the trial that it is about, if any.

        Events of kinds that are not known are ignored.

        Raises:
            RunDirectoryError: The event does not describe the sweep as it should.
        """
        at = self.last_at = event.at
        if isinstance(event, events.Opened):
            self._sweep = SweepRecord.from_json(event.sweep, "the journal's record of the sweep")
            if self.began_at is None:
                self.began_at, self.key = at, key_of(event)
            for trial in self.trials.values():
                self._count(trial, -1)
                trial.waits_for = ""
                if trial.running:  # a driver died: as if it was never started
                    trial.running, trial.started_at, trial.reports = False, None, []
                self._count(trial, 1)
        elif isinstance(event, events.Asked):
            new = TrialHistory(trial=event.trial, index=len(self.trials), data=self.sweep.data)
            return self.trials.setdefault(event.trial.id, new)
        elif isinstance(event, events.OfTrial):
            trial = self.trials[event.trial_id]
            self._count(trial, -1)
            trial.apply(event)
            self._count(trial, 1)
            return trial
        return None

    def _count(self, trial: TrialHistory, step: int) -> None:
        """Count a trial: in once it has changed, out before."""
        if (concluded := trial.concluded) is not None:
            self.states[concluded.state] += step
            if (taken_s := trial.taken_s) is not None:
                self._taken_s += step * taken_s
                self._num_taken += step
        for is_in, group in ((trial.running, self.running), (trial.waits_for, self.held_up)):
            group.pop(trial.trial.id, None)
            if is_in and step > 0:
                group[trial.trial.id] = trial
        if trial.node:
            self.nodes.add(trial.node)


def key_of(event: Event) -> str:
    """Return the hash of an event; of a journal's first one it is the run's key."""
    text = json.dumps(events.plain(event), sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def run_key(run_dir: Path) -> str:
    """Return the key of a directory's run; empty where its journal has not begun."""
    try:
        first = next(read_journal(run_dir / RunFile.JOURNAL), None)
    except (FileNotFoundError, RunDirectoryError):
        return ""
    return "" if first is None else key_of(first)


def read_history(past: Iterable[Event]) -> SweepHistory:
    """Return the history that these events amount to."""
    history = SweepHistory()
    for event in past:
        history.apply(event)
    return history
