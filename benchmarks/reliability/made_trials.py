"""Trials without processes: an executor that makes up their figures, for what a driver does."""

from __future__ import annotations

import os
import signal
import time
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from orchestrator.driver.executors import EXECUTORS, Surroundings
from orchestrator.execution.base import Conductor, Executor, Launch
from orchestrator.execution.placement import local_machine
from orchestrator.machine import Machine
from orchestrator.trial import Report, TrialResult, TrialState

SWEEP: Final = """
from orchestrator import Sweep, Trainable, both, choice, knobs, maximize
from orchestrator.search import Grid


@knobs
class Config:
    lr: float = both(default=1.0, gt=0, doc="a number")
    mode: str = both(default="plain", doc="a word")


def train(config, run):
    raise AssertionError("its trials are made up")


SWEEP = Sweep(
    Trainable(train, Config, reports=[maximize("val_acc")], preload=(), name="made"),
    question="What is lost?",
    space=Config(lr=choice(1.0, 2.0, 3.0, 4.0), mode=choice("plain", "fancy")),
    epochs=2, search=Grid(), confirm=0, max_confirm=0, max_repeats=1, check_isolated=0,
)
"""
"""A sweep file of eight trials, all of which are made up."""
NUM_TRIALS: Final = 8


TRIAL_S: Final = "MADE_UP_TRIAL_S"
"""Variable: seconds that a trial takes."""
MOST: Final = "MADE_UP_TRIALS"
"""Variable: so many trials, then a Ctrl-C."""


class MadeUp:
    """Executor whose trials have ended as soon as they have begun."""

    def __init__(self) -> None:
        self._left = int(os.environ.get(MOST, "1000000"))

    def machine(self) -> Machine:
        """Return this machine."""
        return local_machine()

    def run(self, conductor: Conductor) -> None:
        """Run everything that ``conductor`` hands out."""
        while isinstance(launch := conductor.next_launch(), Launch):
            for trial in launch.trials:
                conductor.started(trial, node="here", cores=1)
                if conductor.interrupted:
                    return
                time.sleep(float(os.environ.get(TRIAL_S, "0")))
                rate = trial.config.get("lr", 1.0)
                speed = 100.0 * float(rate if isinstance(rate, (int, float)) else 1.0)
                figures = {"samples_per_s": speed, "val_acc": 0.5}
                for epoch in (1, 2):
                    report = Report(
                        step=10 * epoch, epoch=epoch, samples=80 * epoch, elapsed_s=0.1 * epoch,
                        metrics=figures,
                    )  # fmt: skip
                    conductor.reported(trial, report)
                conductor.finished(trial, self._result(figures))
                self._left -= 1
                if self._left == 0:
                    os.kill(os.getpid(), signal.SIGINT)
            conductor.tick()

    def close(self) -> None:
        """Do nothing."""

    def _result(self, figures: dict[str, float]) -> TrialResult:
        return TrialResult(
            state=TrialState.COMPLETED, metrics={**figures, "epochs": 2.0, "steps": 20.0},
            tags={"attempts": "1"}, started_at=1.7e9, wall_s=0.2, node="here", device="cpu",
            cores=1, isolation="leased",
        )  # fmt: skip


def make_trials_up() -> None:
    """Let every executor make its trials up, in this process."""

    def made(_surroundings: Surroundings) -> Executor:
        return MadeUp()

    kinds: Any = EXECUTORS
    for name in ("inline", "ray"):
        kinds[name] = replace(EXECUTORS[name], make=made)


def write_sweep(folder: Path) -> Path:
    """Write the sweep file into ``folder``."""
    path = folder / "made.py"
    path.write_text(SWEEP)
    return path
