"""Plain lines: one when a trial starts and one when it ends, for logs and pipes."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import TextIO

from orchestrator.storage.history import SweepHistory, TrialHistory
from orchestrator.tracking.console.progress import SPEED
from orchestrator.tracking.console.wording import config_text, counted, duration, figure
from orchestrator.trial import Stage, TrialState

WRITING = "trials have ended; writing the tables, the report and MLflow"


def introduction(record: SweepHistory) -> str:
    """One line that says what is run on what."""
    sweep = record.sweep
    planned = sweep.get("num_planned")
    parts = [
        f"{sweep['trainable']} on {sweep['data']}" if sweep.get("data") else sweep["trainable"],
        "trials as the search asks" if planned is None else counted(int(planned), "trial"),
        f"{counted(int(sweep['cores_per_trial']), 'core')} a trial",
        f"seed {sweep['seed']}",
    ]
    return f"{sweep['name']}: {', '.join(parts)}"


def outcome(trial: TrialHistory, objectives: list[str]) -> str:
    """What became of a trial: state and figures, or why it has none."""
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
    """A trial by the first of its id, and its stage and repeat where they are special."""
    asked = trial.trial
    stage = "" if asked.stage is Stage.TRAIN else f" {asked.stage}"
    return asked.id[:6] + stage + (f" #{asked.repeat + 1}" if asked.repeat else "")


def label(trial: TrialHistory, record: SweepHistory) -> str:
    """A trial by its name and what varies."""
    return f"{name(trial)} {config_text(trial.trial.config, record.sweep.get('space', {}))}"


class Lines:
    """Writes lines that stay."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._began = time.monotonic()
        self._stage = Stage.TRAIN
        self._waits: set[tuple[str, str]] = set()

    def header(self, record: SweepHistory) -> None:
        """Says what is run, and what an earlier process has done of it."""
        self._write(introduction(record))
        num_done = _num_done(record)
        if num_done:
            self._write(f"going on: {counted(num_done, 'trial')} done before")

    def happened(self, kind: str, trial: TrialHistory, record: SweepHistory) -> None:
        """One line for a start, one for an end, one for a new stage."""
        if trial.trial.stage is not self._stage:
            self._stage = trial.trial.stage
            self._write(f"stage {self._stage}")
        if kind == "waiting":
            self._held_up(trial)
        elif kind == "started":
            self._write(f"{'start':{_width(record)}} {label(trial, record)}")
        elif kind == "finished":
            count = f"{_count(record):{_width(record)}}"
            self._write(f"{count} {label(trial, record)}  {_ending(trial, record)}")

    def _held_up(self, trial: TrialHistory) -> None:
        """Says what a trial waits for, once."""
        if (trial.trial.id, trial.waits_for) not in self._waits:
            self._waits.add((trial.trial.id, trial.waits_for))
            waited = duration(time.time() - trial.waits_since)
            self.note(f"{name(trial)} has waited {waited} for {trial.waits_for}")

    def note(self, text: str) -> None:
        """Says it with a mark that can be searched for."""
        self._write(f"! {text}")

    def refresh(self, record: SweepHistory) -> None:
        """Nothing: lines come with events."""

    def ended(self) -> None:
        """Says what takes a few seconds now."""
        self._write(WRITING)

    def close(self) -> None:
        """Nothing is left to write."""
        self._stream.flush()

    def _write(self, text: str) -> None:
        elapsed = duration(time.monotonic() - self._began)
        self._stream.write(f"{elapsed:>7}  {text}\n")
        self._stream.flush()


def _num_done(record: SweepHistory) -> int:
    return sum(trial.concluded is not None for trial in record.trials.values())


def _count(record: SweepHistory) -> str:
    planned = record.sweep.get("num_planned")
    of = "" if planned is None else f"/{max(int(planned), len(record.trials))}"
    return f"{_num_done(record)}{of}"


def _width(record: SweepHistory) -> int:
    """Of the first column, so that ids stand below each other."""
    return max(len("start"), 2 * len(str(record.sweep.get("num_planned") or "")) + 1)


def _ending(trial: TrialHistory, record: SweepHistory) -> str:
    objectives = [objective["metric"] for objective in record.sweep.get("objectives", [])]
    wall_s = trial.result.wall_s if trial.result is not None else None
    tail = "" if wall_s is None else f"  {wall_s:.1f} s"
    return outcome(trial, objectives) + tail
