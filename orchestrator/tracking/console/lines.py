"""Plain lines: one when a trial starts and one when it ends, for logs and pipes."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import TextIO

from orchestrator.storage.history import SweepHistory, TrialHistory
from orchestrator.tracking.console.wording import SPEED, config_text, counted, duration, figure
from orchestrator.trial import Stage, TrialState

WRITING = "trials have ended; writing the tables, the report and MLflow"


def introduction(history: SweepHistory) -> str:
    """Return one line that describes the sweep."""
    sweep = history.sweep
    planned = sweep.num_planned
    parts = [
        f"{sweep.trainable} on {sweep.data}" if sweep.data else sweep.trainable,
        "trials as the search asks" if planned is None else counted(planned, "trial"),
        f"{counted(sweep.cores_per_trial, 'core')} a trial",
        f"seed {sweep.seed}",
    ]
    return f"{sweep.name}: {', '.join(parts)}"


def outcome(trial: TrialHistory, objectives: list[str]) -> str:
    """Return a trial's state with its figures, or with the reason why it has none."""
    result = trial.result
    assert result is not None
    if result.state not in (TrialState.COMPLETED, TrialState.STOPPED):
        return f"{result.state}: {(result.reason or 'no reason given').splitlines()[0]}"
    return "  ".join([str(result.state), *_figures(trial, objectives)])


def _figures(trial: TrialHistory, objectives: list[str]) -> Iterator[str]:
    known = trial.figures()
    for metric in dict.fromkeys([SPEED, *objectives]):
        if metric in known:
            name = "samples" if metric == SPEED else metric
            yield f"{name} {figure(metric, known[metric])}"


def name(trial: TrialHistory) -> str:
    """Return the first of a trial's id, with its stage and repeat where they are special."""
    asked = trial.trial
    stage = "" if asked.stage is Stage.TRAIN else f" {asked.stage}"
    return asked.id[:6] + stage + (f" #{asked.repeat + 1}" if asked.repeat else "")


def label(trial: TrialHistory, history: SweepHistory) -> str:
    """Return a trial's name and the knobs that vary."""
    return f"{name(trial)} {config_text(trial.trial.config, history.sweep.space)}"


class Lines:
    """A view of lines that stay."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._began = time.monotonic()
        self._stage = Stage.TRAIN
        self._waits: set[tuple[str, str]] = set()

    def header(self, history: SweepHistory) -> None:
        """Write what is run, and how much of it an earlier process has done."""
        self._write(introduction(history))
        num_done = history.num_concluded
        if num_done:
            self._write(f"going on: {counted(num_done, 'trial')} done before")

    def happened(self, kind: str, trial: TrialHistory, history: SweepHistory) -> None:
        """Write one line for a start, one for an end, one for a new stage."""
        if trial.trial.stage is not self._stage:
            self._stage = trial.trial.stage
            self._write(f"stage {self._stage}")
        if kind == "waiting":
            self._held_up(trial)
        elif kind == "started":
            self._write(f"{'start':{_width(history)}} {label(trial, history)}")
        elif kind == "finished":
            count = f"{_count(history):{_width(history)}}"
            self._write(f"{count} {label(trial, history)}  {_ending(trial, history)}")

    def _held_up(self, trial: TrialHistory) -> None:
        """Write what a trial waits for, once."""
        if (trial.trial.id, trial.waits_for) not in self._waits:
            self._waits.add((trial.trial.id, trial.waits_for))
            waited = duration(time.time() - trial.waits_since)
            self.note(f"{name(trial)} has waited {waited} for {trial.waits_for}")

    def note(self, text: str) -> None:
        """Write a note, with a mark that can be searched for."""
        self._write(f"! {text}")

    def refresh(self, history: SweepHistory) -> None:
        """Do nothing: lines come with events."""

    def ended(self) -> None:
        """Write what takes a few seconds now."""
        self._write(WRITING)

    def close(self) -> None:
        """Flush the stream."""
        self._stream.flush()

    def _write(self, text: str) -> None:
        elapsed = duration(time.monotonic() - self._began)
        self._stream.write(f"{elapsed:>7}  {text}\n")
        self._stream.flush()


def _count(history: SweepHistory) -> str:
    planned = history.sweep.num_planned
    of = "" if planned is None else f"/{max(planned, len(history.trials))}"
    return f"{history.num_concluded}{of}"


def _width(history: SweepHistory) -> int:
    """Return the width of the first column, so that ids stand below each other."""
    return max(len("start"), 2 * len(str(history.sweep.num_planned or "")) + 1)


def _ending(trial: TrialHistory, history: SweepHistory) -> str:
    objectives = [objective.metric for objective in history.sweep.objectives]
    wall_s = trial.result.wall_s if trial.result is not None else None
    tail = "" if wall_s is None else f"  {wall_s:.1f} s"
    return outcome(trial, objectives) + tail
