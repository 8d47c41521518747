"""A small problem for searches, and a driver that plays trials against them."""

import json
import math
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from orchestrator.kernel.events import Asked, decode, encode
from orchestrator.kernel.problem import SearchProblem
from orchestrator.kernel.search import WAIT, Pause, Proposal, Search
from orchestrator.machine import Machine, Node, requires
from orchestrator.metrics import maximize
from orchestrator.space.configs import both, knobs, learning, systems
from orchestrator.space.domains import choice, loguniform
from orchestrator.sweep.definition import Sweep
from orchestrator.sweep.problem import search_problem
from orchestrator.sweep.rigor import Rigor
from orchestrator.trainable import Trainable
from orchestrator.trial import Trial, TrialResult, TrialState

MACHINE = Machine(nodes=(Node(name="here", cpus=2),))


@knobs
class Config:
    """Four knobs, one of them conditional."""

    lr: float = learning(default=0.1, gt=0, doc="step size")
    workers: int = systems(default=0, ge=0, doc="loader processes")
    prefetch: int = systems(default=2, ge=1, doc="ahead", applies=lambda c: c.workers > 0)
    batch: int = both(default=100, ge=1, doc="samples a step")


def train(config: Config, run: object) -> None:
    """Do nothing: it is never called."""


TRAINABLE = Trainable(train, Config, reports=[maximize("val_acc")])
SPACE = Config(
    lr=loguniform(1e-3, 1.0),
    workers=choice(0, 3, 6),
    prefetch=choice(2, 4),
    batch=choice(100, 1000),
)


def sweep_of(trainable: Trainable[Any], **changes: object) -> Sweep[Any]:
    """Return a sweep with some of its fields, or of its rigor's, changed."""
    of_rigor = {entry.name for entry in fields(Rigor)}
    rigor: dict[str, Any] = {name: v for name, v in changes.items() if name in of_rigor}
    others: dict[str, Any] = {name: v for name, v in changes.items() if name not in of_rigor}
    return Sweep(trainable, question="?", rigor=Rigor(**rigor), **others)


def problem(**changes: object) -> SearchProblem:
    """Return a problem over :data:`SPACE`, with some fields of its sweep or rigor changed."""
    return search_problem(sweep_of(TRAINABLE, **{"space": SPACE, **changes}), MACHINE)


def six_configs(**changes: object) -> SearchProblem:
    """Return a search problem of six configs, with some fields of its sweep changed."""
    return problem(space=Config(workers=choice(0, 3, 6), batch=choice(100, 1000)), **changes)


def small_batches_only() -> list[Any]:
    """A constraint that excludes half of :data:`SPACE`."""
    return [requires(lambda config: config.batch < 500, "too much memory")]


Answer = Callable[[Trial], TrialResult]


def completed(**metrics: float) -> TrialResult:
    """Return the result of a trial that ran to its end."""
    return TrialResult(state=TrialState.COMPLETED, metrics=metrics, wall_s=1.0)


def smooth(trial: Trial) -> TrialResult:
    """Return a speed from workers and batch, accuracy best at lr 0.03; repeats differ a little."""
    config = trial.config
    speed = 1000 + 100 * config["workers"] + 0.2 * config["batch"] + trial.repeat
    accuracy = 0.9 - 0.05 * (math.log10(config["lr"]) + 1.5) ** 2 - 1e-5 * config["batch"]
    return completed(samples_per_s=speed, val_acc=accuracy)


@dataclass
class Game:
    """Calls of a played search, in order."""

    # ``("ask", answer)``, ``("tell", trial, result)``, ``("should_stop", trial, report)``
    calls: list[tuple[Any, ...]] = field(default_factory=list)
    trials: list[Trial] = field(default_factory=list)  # the trials asked for, in order

    @property
    def configs(self) -> list[dict[str, Any]]:
        """The configs of the trials, in order."""
        return [dict(trial.config) for trial in self.trials]


def trial_of(proposal: Proposal, seed: int = 0) -> Trial:
    """Return the trial that answers ``proposal``, as it comes back from a journal."""
    trial = Trial(
        id=json.dumps([dict(proposal.config), proposal.stage, proposal.repeat, proposal.isolated]),
        stage=proposal.stage,
        config=proposal.config,
        budget=proposal.budget,
        seed=seed,
        repeat=proposal.repeat,
        evaluate_test=proposal.evaluate_test,
        isolated=proposal.isolated,
        interleaved=proposal.interleaved,
    )
    asked = decode(encode(Asked(at=0.0, trial=trial)))
    assert isinstance(asked, Asked)
    return asked.trial


def play(
    search: Search, answer: Answer = smooth, *, capacity: int = 1, order: int | None = 0
) -> Game:
    """Play a search to its end, with ``capacity`` trials out at a time.

    Args:
        search: The search.
        answer: Returns the result of a trial.
        capacity: Trials that run at the same time.
        order: Seed of the order in which they end, or None for first in, first out.
    """
    game, out, rng = Game(), list[Trial](), random.Random(order)
    ended = False
    while out or not ended:
        if not ended and len(out) < capacity:
            asked = search.ask()
            game.calls.append(("ask", asked))
            if isinstance(asked, Proposal):
                out.append(trial_of(asked))
                game.trials.append(out[-1])
                continue
            ended = asked is None
            assert asked is not WAIT or out, "it waits for nothing"
            if not out:
                continue
        trial = out.pop(rng.randrange(len(out)) if order is not None else 0)
        result = answer(trial)
        game.calls.append(("tell", trial, result))
        search.tell(trial, result)
    assert search.ask() is None
    return game


def replay(search: Search, calls: list[tuple[Any, ...]]) -> list[Proposal | Pause | None]:
    """Repeat calls to a new search; return what ``ask`` returns."""
    answers: list[Proposal | Pause | None] = []
    for call in calls:
        if call[0] == "ask":
            answers.append(search.ask())
        else:
            getattr(search, call[0])(*call[1:])
    return answers


def journalled(calls: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """Return the calls that a resumed run repeats: a journal does not have a search's waits."""
    return [call for call in calls if call[0] != "ask" or isinstance(call[1], Proposal)]


def asked_in(calls: list[tuple[Any, ...]]) -> list[Proposal | Pause | None]:
    """Return the answers of the first time."""
    return [call[1] for call in calls if call[0] == "ask"]


def key(config: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return a config as something to count by."""
    return tuple(config[name] for name in ("lr", "workers", "prefetch", "batch"))
