"""Plans of a small sweep, on machines with and without GPUs, and earlier runs of it."""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Literal

from orchestrator.data import DataFolders
from orchestrator.driver.planning.plan import Plan, make_plan
from orchestrator.driver.trials import TrialFactory
from orchestrator.kernel.executor import Needs, Source
from orchestrator.kernel.problem import SearchProblem
from orchestrator.kernel.search import PlannedStage, Search, SearchSpec
from orchestrator.machine import Machine, Node, requires
from orchestrator.metrics import maximize
from orchestrator.space.declare import both, knobs, learning, systems
from orchestrator.space.domains import choice
from orchestrator.sweep.definition import Sweep
from orchestrator.sweep.rigor import NAMES, Rigor
from orchestrator.trainable import Demand, Trainable
from orchestrator.trial import Budget, Stage
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
    """Return a sweep with changes, those of its rigor among them."""
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
    """A search that knows its stages."""

    def start(self, problem: SearchProblem) -> Search:
        raise NotImplementedError

    def with_trials(self, trials: int) -> Staged:
        return self

    def planned(self, problem: SearchProblem) -> Sequence[PlannedStage]:
        probes = PlannedStage(
            name="probe", least=2, most=8, share_of_trial=0.05, isolated=True, text="speeds",
            stage=Stage.PROBE,
        )  # fmt: skip
        return [probes, PlannedStage(name="train", least=1, most=2)]


def earlier_run(
    runs: Path,
    name: str,
    walls: Mapping[str, str],
    epochs: int = 3,
    cores: int = 4,
    data: str = "digits",
    between_s: float = 0.0,
    **fixed: object,
) -> None:
    """Write a finished run: its trials, state by wall time, one after the other."""
    run = runs / name
    run.mkdir(parents=True)
    values = {"lr": 0.1, "prefetch": 2, "ranks": 1, "amp": "off", **fixed}
    record = make_record(budget=Budget(epochs=epochs), data=data, fixed=values)
    (run / "sweep.json").write_text(json.dumps(record.to_json()))
    with (run / "trials.csv").open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["trial_id", "stage", "state", "cores", "started_at", "wall_s"])
        at = datetime(2026, 1, 2, 3, 4, 5, 678_000, UTC)
        for wall, state in walls.items():
            rows.writerow(["abc", "train", state, str(cores), str(at) if wall else "", wall])
            at += timedelta(seconds=float(wall or 0) + between_s)


def change_record(run: Path, **fields: object) -> None:
    """Change fields of the record of an earlier run."""
    path = run / "sweep.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | fields))
