"""A drawn truth of speeds and curves, and a machine on a simulated clock that runs a search on it.

:data:`SMALL` has 180 canonical configs and :data:`LARGE` 1,920, of the sizes that a factored search
is made for. Speeds are shaped by bounds: the slower of a loader and a model, with a little of both
at the crossing. Curves depend on the learning rate and the batch. Each run draws its speed and its
curve with new noise.
"""

import heapq
import math
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from orchestrator.kernel.problem import SearchProblem, key_of
from orchestrator.kernel.search import Proposal, Search
from orchestrator.metrics import maximize
from orchestrator.search import Factored
from orchestrator.search.factored.findings import Findings
from orchestrator.space.configs import both, knobs, learning, systems
from orchestrator.space.domains import choice
from orchestrator.sweep.problem import search_problem
from orchestrator.trainable import Trainable
from orchestrator.trial import Report, Stage, Trial, TrialResult, TrialState
from tests.orchestrator.search.playing import MACHINE, completed, sweep_of, trial_of

SAMPLES = 10_000
EPOCHS = 9


@knobs
class Config:
    """Knobs of a loader, a model and an optimizer."""

    workers: int = systems(default=0, ge=0, doc="loader processes")
    prefetch: int = systems(default=2, ge=1, doc="ahead", applies=lambda c: c.workers > 0)
    pin: bool = systems(default=False, doc="page-locked batches")
    amp: bool = both(default=False, doc="half precision")
    batch: int = both(default=64, ge=1, doc="samples a step")
    lr: float = learning(default=0.03, gt=0, doc="step size")


def train(config: Config, run: object) -> None:
    """Do nothing: it is never called."""


TRAINABLE = Trainable(train, Config, reports=[maximize("val_acc")])
LRS = (0.003, 0.01, 0.03, 0.1, 0.3, 1.0)
SMALL = Config(
    workers=choice(0, 1, 2, 4, 8),
    prefetch=choice(2, 4),
    batch=choice(64, 128, 256, 512),
    lr=choice(*LRS[:5]),
)
LARGE = Config(
    workers=choice(0, 1, 2, 4, 6, 8),
    prefetch=choice(1, 2, 4),
    pin=choice(False, True),
    amp=choice(False, True),
    batch=choice(32, 64, 128, 256, 512),
    lr=choice(*LRS),
)


def problem(space: Config = SMALL, **changes: object) -> SearchProblem:
    """Return a search problem over a space, with some fields of its sweep changed."""
    sweep = sweep_of(TRAINABLE, **{"space": space, "epochs": EPOCHS, **changes})
    return search_problem(sweep, MACHINE)


def findings(space: Config = SMALL, **changes: object) -> Findings:
    """Return the findings of a search that has seen nothing."""
    return Findings(Factored().factors(problem(space, **changes)))


@dataclass
class Truth:
    """Speeds and curves of all configs, drawn from a seed."""

    seed: int  # seed of the truth
    spread: float = 0.03  # spread of the speed between runs, as a fraction
    slow_lr: float = 1.0  # factor of the time of a step at the largest learning rate
    order_by_workers: bool = False  # true where the loader's order depends on the number of workers
    worker_loss: float = 0.0  # accuracy that each worker costs, where the order depends on them
    # Accuracy that any number of workers costs from the fifth epoch on: no probe shows it
    late_loss: float = 0.0
    # Returns True for a config that cannot run
    infeasible: Callable[[Mapping[str, Any]], bool] = lambda config: False

    @cached_property
    def _of(self) -> dict[str, float]:
        rng = random.Random(f"truth {self.seed}")
        return {
            "loader": rng.uniform(400, 900),
            "model": rng.uniform(1500, 4000),
            "half": rng.uniform(40, 160),
            "amp": rng.uniform(1.05, 1.5),
            "prefetch": rng.uniform(0.0, 0.08),
            "pin": rng.uniform(-0.02, 0.04),
            "crowd": rng.uniform(0.01, 0.04),
            "best_lr": rng.uniform(-2.2, -1.2),
            "lr_slope": rng.uniform(0.3, 1.0),
            "lr_width": rng.uniform(0.01, 0.04),
            "batch_loss": rng.uniform(0.001, 0.006),
            "pace": rng.uniform(0.8, 2.0),
        }

    def speed(self, config: Mapping[str, Any]) -> float:
        """Return the true speed, samples/s."""
        of, workers = self._of, config["workers"]
        batch = config["batch"]
        ahead = 1 + of["prefetch"] * math.log2(config["prefetch"]) * (workers > 0)
        loader = of["loader"] * max(workers, 0.8) ** 0.9 * ahead * (1 + of["pin"] * config["pin"])
        model = of["model"] * batch / (batch + of["half"]) * (of["amp"] if config["amp"] else 1)
        model *= 1 - of["crowd"] * max(workers - 4, 0) / 4
        both_bounds = (loader**-6 + model**-6) ** (-1 / 6)
        slow = self.slow_lr if config["lr"] == LRS[4] else 1.0
        return both_bounds / slow

    def accuracy(self, config: Mapping[str, Any], epoch: float = EPOCHS) -> float:
        """Return the mean accuracy after so many epochs."""
        of, doublings = self._of, math.log2(config["batch"] / 64)
        off = math.log10(config["lr"]) - of["best_lr"] - of["lr_slope"] * 0.3 * doublings
        final = 0.97 - of["lr_width"] * off**2 - of["batch_loss"] * max(doublings, 0)
        final -= self.worker_loss * config["workers"]
        final -= self.late_loss * (config["workers"] > 0 and epoch > EPOCHS / 2)
        pace = of["pace"] * (1 + 0.15 * doublings) * (1 + 0.3 * max(-off, 0))
        return final - (final - 0.3) * math.exp(-epoch / pace)

    def batches(self, config: Mapping[str, Any]) -> str:
        """Return the fingerprint of the first batches."""
        order = config["workers"] if self.order_by_workers else 0
        return f"{config['batch']} {order}"


@dataclass
class Machine:
    """Runs a search's trials on a simulated clock."""

    truth: Truth  # what they show
    problem: SearchProblem  # what is searched
    slots: int = 1  # trials at the same time
    draw: int = 0  # seed of the noise
    setup_s: float = 0.3  # start of each process
    probe_s: float = 1.0  # training time of a probe
    # Trials with their results, in the order in which they ended
    results: list[tuple[Trial, TrialResult]] = field(default_factory=list)
    # Calls of the search, as :func:`~tests.orchestrator.search.playing.replay` takes them
    calls: list[tuple[Any, ...]] = field(default_factory=list)
    core_s: float = 0.0
    time_s: float = 0.0
    _trained: dict[Any, int] = field(default_factory=dict)

    def run(self, search: Search) -> "Machine":
        """Run a search to its end; return this machine."""
        out: list[tuple[float, int, Trial, list[Report], TrialResult]] = []
        now, number, ended = 0.0, 0, False
        while True:
            while not ended and len(out) < self.slots:
                asked = search.ask()
                self.calls.append(("ask", asked))
                if not isinstance(asked, Proposal):
                    ended = asked is None and not out
                    break
                number += 1
                trial = trial_of(asked, asked.repeat + 1000 * (asked.stage is Stage.CONFIRM))
                wall_s, reports, result = self._play(trial, search)
                heapq.heappush(out, (now + wall_s, number, trial, reports, result))
            if not out:
                assert ended, "it waits for nothing"
                self.time_s = now
                return self
            now, _, trial, _, result = heapq.heappop(out)
            self.core_s += result.wall_s or 0.0
            self.results.append((trial, result))
            self.calls.append(("tell", trial, result))
            search.tell(trial, result)

    def _play(self, trial: Trial, search: Search) -> tuple[float, list[Report], TrialResult]:
        config = trial.config
        if self.truth.infeasible(config):
            result = TrialResult(state=TrialState.INFEASIBLE, reason="no", wall_s=self.setup_s)
            return self.setup_s, [], result
        name = f"{self.draw} {sorted(config.items())} {trial.stage} {trial.seed}"
        # A resumed part draws a new speed; the curve depends on the seed only.
        rng = random.Random(f"{name} {trial.budget.pause_after}")
        rate = self.truth.speed(config) * math.exp(rng.gauss(0, self.truth.spread))
        metrics = {"samples_per_s": rate, "step_ms": 1e3 * config["batch"] / rate}
        metrics["peak_rss_gib"] = 0.5 + 0.1 * config["workers"]
        if not trial.budget.evaluated:
            return self._probe(config, metrics)
        return self._train(trial, search, rate, metrics, random.Random(name))

    def _probe(
        self, config: Mapping[str, Any], metrics: dict[str, float]
    ) -> tuple[float, list[Report], TrialResult]:
        tags = {"batches": self.truth.batches(config)}
        metrics["first_loss"] = 2.3 + 1e-6 * config["workers"]
        metrics["first_loss"] += 0.1 * (len(tags["batches"]) % 7)
        wall_s = self.setup_s + self.probe_s
        return wall_s, [], replace(completed(**metrics), tags=tags, wall_s=wall_s)

    def _train(
        self,
        trial: Trial,
        search: Search,
        rate: float,
        metrics: dict[str, float],
        rng: random.Random,
    ) -> tuple[float, list[Report], TrialResult]:
        luck = rng.gauss(0, 0.0015)
        noise = [rng.gauss(0, 0.001) for _ in range(EPOCHS + 1)]
        curve = key_of(self.problem, trial.config), trial.stage, trial.seed
        done, until = self._trained.get(curve, 0), trial.budget.pause_after or trial.budget.epochs
        reports = []
        stopped = until < trial.budget.epochs
        epoch = done
        for epoch in range(done + 1, until + 1):
            accuracy = self.truth.accuracy(trial.config, epoch) + luck + noise[epoch]
            metrics |= {"val_acc": accuracy, "epochs": float(epoch)}
            report = Report(
                step=epoch,
                epoch=epoch,
                samples=epoch * SAMPLES,
                elapsed_s=0.0,
                metrics=dict(metrics),
            )
            reports.append(report)
            self.calls.append(("should_stop", trial, report))
            if search.should_stop(trial, report):
                stopped = True
                break
        self._trained[curve] = epoch
        wall_s = self.setup_s + (epoch - done) * SAMPLES / rate
        state = TrialState.STOPPED if stopped else TrialState.COMPLETED
        return wall_s, reports, TrialResult(state=state, metrics=metrics, wall_s=wall_s)
