"""Random learning curves, played against a halving search; and what it should do, by definition."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from orchestrator.kernel.problem import SearchProblem
from orchestrator.kernel.search import WAIT, Pause, Proposal, Search
from orchestrator.metrics import Objective, at_least, maximize, minimize
from orchestrator.search.grid import Grid
from orchestrator.search.stopping import Asha
from orchestrator.trial import Report, Trial, TrialResult, TrialState
from tests.orchestrator.search.playing import key, problem, trial_of
from tests.orchestrator.search.stopping.test_layers import peeled, spread

EPOCHS = 9
Metrics = Mapping[str, float]
Name = tuple[Any, ...]

AIMS: Sequence[Sequence[Objective]] = (
    (maximize("val_acc"),),
    (minimize("train_loss"),),
    (maximize("samples_per_s"), maximize("val_acc")),
    (maximize("samples_per_s"), maximize("val_acc"), minimize("train_loss")),
    (maximize("samples_per_s"), maximize("val_acc"), at_least("val_acc", 2)),
)


@dataclass(kw_only=True)
class Table:
    """A random problem: curves of configs by name, made when they are first asked for.

    Attributes:
        problem: The problem.
        asha: The specification.
        num_configs: Configs of the search around which it is.
        failing: Share of the trials that fail, and of the figures that are no number.
        rng: Source of all that is random.
        curves: Figures after each epoch.
        orders: Orders of configs after so many epochs, the best first, that were looked at.
    """

    problem: SearchProblem
    asha: Asha
    num_configs: int
    failing: float
    rng: random.Random
    curves: dict[Name, list[Metrics]] = field(default_factory=dict)
    orders: dict[tuple[Any, ...], list[Name]] = field(default_factory=dict)

    def search(self) -> tuple[Search, Listener]:
        """Return the search, and the one that it is around."""
        inner = Listener(Grid(trials=self.num_configs).start(self.problem))
        return self.asha.start(inner, self.problem), inner

    def figures(self, name: Name, epoch: int) -> Metrics:
        """Return the figures of a config after so many epochs; few values, so that many tie."""
        if name not in self.curves:
            self.curves[name] = [self._figures() for _ in range(EPOCHS)]
        return {**self.curves[name][epoch - 1], "epochs": epoch}

    def _figures(self) -> Metrics:
        names = ("samples_per_s", "val_acc", "train_loss")
        return {
            name: math.nan if self.rng.random() < self.failing else float(self.rng.randrange(7))
            for name in names
        }


class Listener(Search):
    """A search that notes what it is told."""

    def __init__(self, search: Search) -> None:
        self._search = search
        self.told: list[tuple[Name, TrialResult]] = []

    def ask(self) -> Proposal | Pause | None:
        return self._search.ask()

    def tell(self, trial: Trial, result: TrialResult) -> None:
        self.told.append((key(trial.config), result))
        self._search.tell(trial, result)

    def should_stop(self, trial: Trial, report: Report) -> bool:
        return self._search.should_stop(trial, report)


def table(seed: int) -> Table:
    """Return a random table."""
    rng = random.Random(seed)
    return Table(
        problem=problem(epochs=EPOCHS, objectives=rng.choice(AIMS), seed=seed),
        asha=Asha(grace=rng.choice([None, 1, 2, 3]), factor=rng.choice([2, 3, 4])),
        num_configs=rng.randint(1, 14),
        failing=rng.choice([0.0, 0.0, 0.1]),
        rng=rng,
    )


@dataclass(kw_only=True)
class Event:
    """Something that happened.

    Attributes:
        what: ``asked``, ``reported``, ``ended`` or ``failed``; or ``wait``, ``none``.
        name: Of the config.
        epoch: Of a report, or where the trial is to end.
        stops: Answer to a report.
    """

    what: str
    name: Name = ()
    epoch: int = 0
    stops: bool = False


def play(of: Table, search: Search, *, capacity: int = 1) -> list[Event]:
    """Play a search to its end; trials train an epoch each in a random order."""
    log: list[Event] = []
    running: list[list[Any]] = []  # a trial, and the epochs that it has trained
    is_over = False
    while running or not is_over:
        if not is_over and len(running) < capacity:
            proposal = search.ask()
            if isinstance(proposal, Proposal):
                trial, name = trial_of(proposal), key(proposal.config)
                log.append(Event(what="asked", name=name, epoch=EPOCHS))
                running.append([trial, 0])
                continue
            log.append(Event(what="wait" if proposal is WAIT else "none"))
            is_over = proposal is None and not running
            assert running or is_over, "it waits for nothing"
            if is_over:
                break
        _train(of, search, running, log)
    return log


def _train(
    of: Table,
    search: Search,
    running: list[list[Any]],
    log: list[Event],
) -> None:
    """Train one of the trials for an epoch."""
    chosen = of.rng.choice(running)
    trial, epoch = chosen[0], chosen[1] + 1
    name = key(trial.config)
    metrics = of.figures(name, epoch)
    chosen[1] = epoch
    if of.rng.random() < of.failing / 4:
        running.remove(chosen)
        log.append(Event(what="failed", name=name))
        search.tell(trial, TrialResult(state=TrialState.FAILED, metrics=metrics))
        return
    report = Report(step=epoch, epoch=epoch, samples=epoch, elapsed_s=epoch, metrics=metrics)
    stops = search.should_stop(trial, report)
    log.append(Event(what="reported", name=name, epoch=epoch, stops=stops))
    if epoch < EPOCHS and not stops:
        return
    running.remove(chosen)
    is_whole = epoch == EPOCHS
    log.append(Event(what="ended", name=name, epoch=epoch))
    state = TrialState.COMPLETED if is_whole and not stops else TrialState.STOPPED
    search.tell(trial, TrialResult(state=state, metrics=metrics))


# -- by definition


def best(of: Table, names: Sequence[Name], rung: int, keep: int) -> list[Name]:
    """Return the best of ``names`` after ``rung`` epochs: sorted in full, the first ``keep``."""
    if (rung, *names) not in of.orders:
        of.orders[rung, *names] = _order(of, names, rung)
    return of.orders[rung, *names][:keep]


def _order(of: Table, names: Sequence[Name], rung: int) -> list[Name]:
    aim = of.asha.aim(of.problem.objectives)
    signs = [goal.sign for goal in aim.goals]

    def point(name: Name) -> tuple[float, ...]:
        return tuple(of.figures(name, rung)[goal.metric] for goal in aim.goals)

    def violates(name: Name) -> bool:
        return any(
            not bound.sign * (of.figures(name, rung)[bound.metric] - (bound.bound or 0)) >= 0
            for bound in aim.bounds
        )

    order: list[Name] = []
    numbers = [name for name in names if not any(map(math.isnan, point(name)))]
    for group in (False, True):
        members = [name for name in numbers if violates(name) == group]
        for layer in peeled([point(name) for name in members], signs):
            signed = [
                tuple(x * s for x, s in zip(point(members[i]), signs, strict=True)) for i in layer
            ]
            order += [members[layer[i]] for i in spread(signed)]
    return order


def baseline(of: Table) -> Name:
    return key(of.problem.baseline)


def expected_stop(of: Table, log: Sequence[Event], event: Event) -> bool:
    """Return whether a trial is to end at a report, from the reports before it and its own."""
    rungs = of.asha.rungs(EPOCHS)
    if event.epoch not in rungs or event.name == baseline(of):
        return False
    names = [e.name for e in log if e.what == "reported" and e.epoch == event.epoch]
    names = [*names, event.name]
    return event.name not in best(of, names, event.epoch, max(1, len(names) // of.asha.factor))
