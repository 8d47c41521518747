"""The sweeps of the simulation, with runs that are made of their config; a judge that remembers."""

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partialmethod
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import pandas as pd

from orchestrator.driver.analyst import Analyst, candidates_of
from orchestrator.driver.phases import capacity_of
from orchestrator.driver.planning.plan import Plan, make_plan
from orchestrator.driver.record import question_record
from orchestrator.machine import Machine, Node
from orchestrator.replay.recorded import RecordedRun
from orchestrator.search import Asha, Factored, Grid, Optuna
from orchestrator.search.stages.judge import Results
from orchestrator.space.domains import choice, loguniform
from orchestrator.storage.sweep_record import SweepRecord
from orchestrator.sweep.definition import Sweep
from orchestrator.sweep.rigor import Rigor
from orchestrator.trial import Report, Trial
from tests.orchestrator.search.playing import TRAINABLE, Config

FILE, EPOCHS = Path("/made/sweep.py"), 3


@dataclass(frozen=True, eq=False)
class Case:
    """A sweep on a simulated machine, with the budget of its time if it has one."""

    name: str
    sweep: Sweep[Any]
    slots: int = 1
    time_budget_s: float | None = None

    @cached_property
    def machine(self) -> Machine:
        return Machine(nodes=(Node(name="n0", cpus=self.slots),))

    @cached_property
    def plan(self) -> Plan:
        return make_plan(self.sweep, self.machine, num_cores=1)

    @cached_property
    def record(self) -> SweepRecord:
        capacity = capacity_of(self.sweep, self.machine, 1, None)
        return replace(question_record(self.sweep, FILE), capacity=capacity)

    @cached_property
    def candidates(self) -> pd.DataFrame | None:
        factory = SimpleNamespace(sweep=self.sweep, machine=self.machine)
        return candidates_of(factory, self.record)


def _sweep(seed: int = 0, **fields: Any) -> Sweep[Any]:  # noqa: ANN401 - of a sweep
    lr = 0.1 if isinstance(fields["search"], Grid) else loguniform(1e-3, 1.0)
    space = fields.pop("space", Config(lr=lr, workers=choice(0, 3), batch=choice(100, 200)))
    rigor = Rigor(
        confirm=2, max_confirm=3, finalists=1, check_isolated=0, max_repeats=fields.pop("most", 1)
    )
    fields |= {"question": "?", "epochs": EPOCHS, "cores_per_trial": 1, "rigor": rigor}
    return Sweep(TRAINABLE, space=space, seed=seed, **fields)


_STAGED = _sweep(search=Factored(), space=Config(workers=choice(0, 3), batch=choice(100, 200)))
CASES: Sequence[Case] = (
    Case("grid", _sweep(search=Grid(), most=2)),
    Case("grid on three", _sweep(1, search=Grid()), slots=3),
    Case("optuna", _sweep(search=Optuna(trials=5))),
    Case("halving", _sweep(search=Grid(), stopping=Asha("val_acc", grace=1, factor=2))),
    Case("factored", _STAGED),
    Case("budget", _sweep(2, search=Grid()), time_budget_s=190.0),
)


def made(trial: Trial) -> RecordedRun:
    """Return a run that is made of a curve's config, stage and seed."""
    rng = random.Random(f"{dict(trial.config)} {trial.stage} {trial.seed} {trial.repeat}")
    epoch_s = 20 / (1 + trial.config["workers"]) + rng.uniform(0, 0.2)
    accuracy, reports = 0.0, []
    for epoch in range(1, EPOCHS + 1):
        accuracy += rng.uniform(0, 0.01) + 0.1
        metrics = {"val_acc": accuracy, "samples_per_s": 100 / epoch_s, "epoch_s": epoch_s}
        count: dict[str, Any] = {"step": epoch, "epoch": epoch, "samples": epoch}
        reports.append(Report(**count, elapsed_s=epoch * epoch_s, metrics=metrics))
    return RecordedRun(reports=reports, wall_s=EPOCHS * epoch_s + 1, metrics=metrics)


class Remembering(Analyst):
    """The real judge; it answers a repeated question about the same results from memory."""

    answers: ClassVar[dict[object, object]] = {}

    def write_candidates(self, run_dir: Path) -> None:
        """Write no Parquet file: that takes longer than a trial."""

    def _once(self, name: str, results: Results, **given: int) -> object:
        roles = {} if self._search is None else self._search.roles
        seen = [(trial.id, replace(result, started_at=None)) for trial, result in results]
        progress = sorted(self._derived.progress.items()) if self.candidates is not None else ()
        key = name, repr((given, sorted(roles.items()), seen, progress))
        if key not in self.answers:
            self.answers[key] = getattr(super(), name)(results, **given)
        return self.answers[key]


for _name in ("finalists", "to_repeat", "is_decided", "recommended"):
    setattr(Remembering, _name, partialmethod(Remembering._once, _name))
