"""Plans of a small sweep, on machines with and without GPUs, and earlier runs of it."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from orchestrator.data import DataFolders
from orchestrator.driver.planning.plan import Plan, make_plan
from orchestrator.driver.trials import TrialFactory
from orchestrator.kernel.events import Asked, Finished, Opened, Started
from orchestrator.kernel.executor import Needs, Source
from orchestrator.kernel.journal import Journal
from orchestrator.kernel.problem import SearchProblem
from orchestrator.kernel.search import PlannedStage, Search, SearchSpec
from orchestrator.machine import Machine, Node, requires
from orchestrator.metrics import maximize
from orchestrator.space.configs import both, knobs, learning, systems
from orchestrator.space.domains import choice
from orchestrator.sweep.definition import Sweep
from orchestrator.sweep.rigor import NAMES, Rigor
from orchestrator.trainable import Demand, Trainable
from orchestrator.trial import Budget, Stage, Trial, TrialResult, TrialState
from tests.orchestrator.tracking.journals import make_record

CPU = Machine(nodes=(Node(name="cpu", cpus=4),))
GPUS = Machine(nodes=(Node(name="gpu", cpus=8, gpus=2), Node(name="cpu", cpus=4)))


@knobs
class Config:
    lr: float = learning(default=0.1, gt=0, doc="step size")
    workers: int = systems(default=0, ge=0, doc="loader processes")
    prefetch: int = systems(
        default=2, ge=1, unit="batches", doc="ahead", applies=lambda c: c.workers > 0
    )
    ranks: int = both(default=1, ge=1, doc="processes")
    amp: Literal["off", "fp16"] = both(default="off", doc="precision")


def train(config: Config, run: object) -> None:
    """Is never called."""


def fp16_needs_cuda(config: Config, machine: Machine) -> str | None:
    return "fp16 needs a GPU" if config.amp == "fp16" and not machine.has_cuda else None


TRAINABLE = Trainable(
    train,
    Config,
    reports=[maximize("val_acc")],
    constraints=[fp16_needs_cuda],
    demand=lambda config, machine: Demand(ranks=config.ranks, gpus=_gpus(config, machine)),
    name="tiny",
)


def _gpus(config: Config, machine: Machine) -> int:
    return config.ranks if config.ranks > 1 or machine.has_cuda else 0


def sweep(**changes: object) -> Sweep[Config]:
    """Return a sweep with changes, also of its rigor."""
    rigor: dict[str, Any] = {name: changes.pop(name) for name in NAMES if name in changes}
    fields: dict[str, Any] = {"question": "How many?", "space": Config(), **changes}
    return Sweep(TRAINABLE, rigor=Rigor(**rigor), **fields)


def plan(machine: Machine = CPU, num_cores: int = 4, **changes: object) -> Plan:
    return make_plan(sweep(**changes), machine, num_cores=num_cores)


def made_factory(
    folder: Path,
    asked: Sweep[Any],
    machine: Machine,
    num_cores: int = 1,
    **changes: Any,  # noqa: ANN401 - of TrialFactory
) -> TrialFactory:
    """Return a factory of trials without data."""
    folders = DataFolders(root=folder, cache=folder)
    needs = Needs(source=Source(), data="", folders=folders, fingerprint="")
    fields: dict[str, Any] = {"needs": needs, "scratch": folder, **changes}
    return TrialFactory(sweep=asked, machine=machine, num_cores=num_cores, **fields)


WIDE: Mapping[str, Any] = {
    "space": Config(
        workers=choice(0, 2, 4), prefetch=choice(2, 4), ranks=choice(1, 2, 4),
        amp=choice("off", "fp16"),
    ),
    "constraints": [requires(lambda c: c.workers * c.ranks < 16, "too many processes")],
    "repeats": 2,
    "epochs": 3,
    "steps": 1000,
}  # fmt: skip


@dataclass(frozen=True)
class Staged(SearchSpec):
    """A search with known stages."""

    def start(self, problem: SearchProblem) -> Search:
        raise NotImplementedError

    def with_trials(self, trials: int) -> "Staged":
        return self

    def planned(self, problem: SearchProblem) -> Sequence[PlannedStage]:
        probes = PlannedStage(
            name="probe", least=2, most=8, share_of_trial=0.05, isolated=True, text="speeds",
            stage=Stage.PROBE,
        )  # fmt: skip
        return [probes, PlannedStage(name="train", least=1, most=2)]


EARLIER = make_record(budget=Budget(epochs=3), cores_per_trial=4)
"""The record of an earlier run."""


def earlier_run(
    run: Path,
    seconds: Sequence[float],
    *,
    state: TrialState = TrialState.COMPLETED,
    trial_budget: Budget | None = None,
    after_s: float = 0.0,
    **changes: object,
) -> None:
    """Write an earlier run of trials, one after the other, ``after_s`` after the end of each."""
    run.mkdir(parents=True)
    record = replace(EARLIER, **changes)  # type: ignore[arg-type]
    (run / "sweep.json").write_text(json.dumps(record.to_json()))
    at = 100.0
    journal = Journal(run / "journal.jsonl", now=lambda: at)
    journal.append(Opened(sweep=record.to_json()))
    for number, wall_s in enumerate(seconds):
        budget = trial_budget or record.budget
        made = Trial(id=str(number), stage=Stage.TRAIN, config={}, budget=budget, seed=0)
        journal.append(Asked(trial=made))
        journal.append(Started(trial_id=made.id, node="a", cores=4))
        at += wall_s + after_s
        result = TrialResult(state=state, wall_s=wall_s)
        journal.append(Finished(trial_id=made.id, result=result))
    journal.close()
