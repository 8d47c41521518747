"""A table of true speeds and curves, from which noisy runs are drawn."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np
import pandas as pd

from orchestrator import Sweep
from orchestrator.kernel.problem import Key, SearchProblem
from orchestrator.machine import Machine, Node
from orchestrator.replay.recorded import RecordedRun
from orchestrator.search import Grid
from orchestrator.space.knob import Role
from orchestrator.sweep.problem import search_problem
from orchestrator.trial import Report, Trial

MACHINE: Final = Machine(nodes=(Node(name="node", cpus=1),))
"""One trial at a time."""


@dataclass(frozen=True, kw_only=True)
class Timing:
    """True times of a setting.

    Attributes:
        samples_per_s: Throughput in the steady state.
        set_up_s: Seconds before the first epoch.
        epoch_start_s: Wait for the first batch of an epoch.
        eval_s: Seconds of an evaluation.
    """

    samples_per_s: float
    set_up_s: float
    epoch_start_s: float
    eval_s: float


@dataclass(frozen=True, kw_only=True, eq=False)
class Truth:
    """True speeds and curves of every config of a sweep.

    Attributes:
        name: Its name on the page.
        sweep: The sweep that is searched.
        timings: By :meth:`speed_key`.
        curves: By :meth:`curve_key`: validation accuracy, (seeds, epochs).
        samples: Training samples of an epoch.
        log_spread: Standard deviation of the log speed from run to run.
        spread: Standard deviation of an accuracy beyond its recorded seeds.
    """

    name: str
    sweep: Sweep[Any]
    timings: Mapping[Key, Timing]
    curves: Mapping[Key, np.ndarray]
    samples: int
    log_spread: float = 0.03
    spread: float = 0.0

    @cached_property
    def problem(self) -> SearchProblem:
        """The problem that a search of the sweep solves."""
        return search_problem(self.sweep, MACHINE)

    @cached_property
    def configs(self) -> pd.DataFrame:
        """Every config: its knobs, and its true ``speed``, ``accuracy`` and ``core_s`` of a run."""
        candidates = Grid(points=3).candidates(self.problem)
        rows = []
        for key in candidates.keys:
            config = candidates.config(key)
            timing, curve = self.timing(config), self.curve(config)
            rows.append(
                {
                    **config,
                    "speed": timing.samples_per_s,
                    "accuracy": float(curve[:, -1].mean()),
                    "core_s": self.wall_s(timing, curve.shape[1]),
                }
            )
        return pd.DataFrame(rows)

    @cached_property
    def records(self) -> list[dict[str, Any]]:
        """The configs of :attr:`configs`, in its order."""
        names = list(self.problem.base)
        rows = self.configs[names].to_dict("records")
        return [{str(name): value for name, value in row.items()} for row in rows]

    @property
    def grid_core_s(self) -> float:
        """Seconds of one run of every config, one at a time on the whole machine."""
        return float(self.configs["core_s"].sum())

    def speed_key(self, config: Mapping[str, Any]) -> Key:
        """Return the values that speed depends on."""
        return self._values(config, Role.SYSTEMS, Role.BOTH)

    def curve_key(self, config: Mapping[str, Any]) -> Key:
        """Return the values that learning depends on."""
        return self._values(config, Role.LEARNING, Role.BOTH)

    def _values(self, config: Mapping[str, Any], *roles: Role) -> Key:
        varied, known = self.problem.domains, self.problem.roles
        return tuple([config[name] for name in varied if known[name] in roles])

    def timing(self, config: Mapping[str, Any]) -> Timing:
        """Return the true times of a config."""
        return self.timings[self.speed_key(config)]

    def curve(self, config: Mapping[str, Any]) -> np.ndarray:
        """Return the curves of a config, (seeds, epochs)."""
        return self.curves[self.curve_key(config)]

    def wall_s(self, timing: Timing, num_epochs: int) -> float:
        """Return the seconds of a run."""
        epoch_s = timing.epoch_start_s + self.samples / timing.samples_per_s + timing.eval_s
        return timing.set_up_s + num_epochs * epoch_s


class Draws:
    """Runs drawn from a truth: the same trial has the same run, whichever search asks for it.

    Args:
        truth: The truth.
        seed: Seed of the draws.
    """

    def __init__(self, truth: Truth, seed: int) -> None:
        self._truth, self._seed = truth, seed

    def draw(self, trial: Trial) -> RecordedRun:
        """Return the run of a trial."""
        return self.run(trial.config, f"{trial.stage} {trial.seed} {trial.repeat}", trial.seed)

    def run(self, config: Mapping[str, Any], which: str, curve: int) -> RecordedRun:
        """Return a run.

        Args:
            config: A canonical config.
            which: Identifies this run of the config.
            curve: Seed of its training.
        """
        truth, timing = self._truth, self._truth.timing(config)
        rng = _generator(self._seed, which, sorted(map(str, config.items())))
        speed = timing.samples_per_s * math.exp(truth.log_spread * rng.standard_normal())
        accuracies = self._accuracies(config, curve)
        batch = int(config.get("batch_size", 1))
        steps = -(-truth.samples // batch)
        train_s = truth.samples / speed
        epoch_s = timing.epoch_start_s + train_s + timing.eval_s
        metrics = {
            "samples_per_s": speed,
            "step_ms": 1000 * train_s / steps,
            "epoch_start_s": timing.epoch_start_s,
            "epoch_s": timing.epoch_start_s + train_s,
            "peak_rss_gib": 1.0,
        }
        reports = [
            Report(
                step=epoch * steps,
                epoch=epoch,
                samples=epoch * truth.samples,
                elapsed_s=timing.set_up_s + epoch * epoch_s,
                metrics={
                    **metrics,
                    "train_s": epoch * (timing.epoch_start_s + train_s),
                    "eval_s": epoch * timing.eval_s,
                    "val_acc": accuracy,
                    "epochs": epoch,
                    "steps": epoch * steps,
                },
            )
            for epoch, accuracy in enumerate(accuracies, 1)
        ]
        wall_s = timing.set_up_s + len(reports) * epoch_s
        return RecordedRun(
            reports=reports,
            wall_s=wall_s,
            metrics={**reports[-1].metrics, "first_loss": 2.3},
            tags={"batches": str(truth.curve_key(config)), "bound": "loader"},
        )

    def _accuracies(self, config: Mapping[str, Any], seed: int) -> Sequence[float]:
        truth, curves = self._truth, self._truth.curve(config)
        rng = _generator(self._seed, f"curve {seed}", [repr(truth.curve_key(config))])
        chosen = curves[rng.integers(len(curves))]
        noise = truth.spread * rng.standard_normal()
        return [float(min(max(value + noise, 0.0), 1.0)) for value in chosen]


def _generator(seed: int, which: str, config: Sequence[str]) -> np.random.Generator:
    digest = hashlib.sha256(f"{seed} {which} {config}".encode()).digest()
    return np.random.default_rng(int.from_bytes(digest[:8], "little"))
