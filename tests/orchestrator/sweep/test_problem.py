"""A sweep, and the problem of its search: defaults, canonical values, constraints."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from orchestrator import knobs, learning
from orchestrator.errors import SweepFileError
from orchestrator.machine import Machine, Node
from orchestrator.metrics import Objective, maximize, minimize
from orchestrator.sweep.definition import Sweep
from orchestrator.sweep.loading import load_sweep
from orchestrator.sweep.problem import search_problem
from orchestrator.trainable import Trainable
from tests.orchestrator.helpers.sweep_files import GOOD, line_of, written
from tests.orchestrator.sweep.refusals import refusal

MACHINE = Machine(nodes=(Node(name="here", cpus=2),))


def test_a_problem_holds_canonical_values_in_order_of_declaration(tmp_path: Path) -> None:
    tail = GOOD.replace(
        "epochs=2", "baseline=Config(prefetch=7, lr=0.3), rigor=Rigor(repeats=4), seed=5"
    )
    problem = search_problem(load_sweep(written(tmp_path, tail)), MACHINE)

    assert list(problem.base) == ["lr", "workers", "prefetch", "amp"]
    assert problem.base == {"lr": 0.1, "workers": 0, "prefetch": 2, "amp": "off"}
    assert problem.baseline == {"lr": 0.3, "workers": 0, "prefetch": 2, "amp": "off"}
    assert list(problem.domains) == ["lr", "workers"]
    assert (problem.repeats, problem.seed, problem.budget.epochs) == (4, 5, 1)
    assert problem.canonical({**problem.base, "prefetch": 9}) == problem.base


def constrained(folder: Path, constraint: str, search: str = "Grid()") -> Sweep[Any]:
    tail = GOOD.replace("    epochs=2,", f"    constraints=[{constraint}],\n    search={search},")
    return load_sweep(written(folder, tail))


@pytest.mark.parametrize("search", ["Grid()", "Random(5)", "Optuna(5)"])
def test_constraints_that_exclude_everything_are_refused(tmp_path: Path, search: str) -> None:
    sweep = constrained(tmp_path, "requires(lambda c: c.amp == 'bf16', 'only bf16')", search)
    with pytest.raises(SweepFileError) as refused:
        search_problem(sweep, MACHINE)

    assert "the sweep's constraints exclude all of the" in refused.value.message
    assert "only bf16" in refused.value.hint


def test_constraints_that_leave_something_are_applied(tmp_path: Path) -> None:
    sweep = constrained(tmp_path, "requires(lambda c: c.workers == 3, 'workers')")
    problem = search_problem(sweep, MACHINE)

    assert problem.admissible({**problem.base, "workers": 3})
    assert not problem.admissible({**problem.base, "workers": 0})


def test_constraints_may_ask_for_the_machine(tmp_path: Path) -> None:
    sweep = constrained(tmp_path, "lambda c, m: None if m.has_cuda else 'no GPU'")
    with pytest.raises(SweepFileError, match="exclude all of the 6 configs"):
        search_problem(sweep, MACHINE)

    search_problem(sweep, Machine(nodes=(Node(name="gpu", cpus=8, gpus=1),)))


@pytest.mark.parametrize("answer", ["c.workers == 3", "0", "['no']"])
def test_a_constraint_that_answers_something_else_is_named(tmp_path: Path, answer: str) -> None:
    sweep = constrained(tmp_path, f"lambda c, m: {answer}")
    with pytest.raises(SweepFileError) as refused:
        search_problem(sweep, MACHINE)

    path = tmp_path / "my_sweep.py"
    assert f"{path}:{line_of(path, 'lambda c, m')}: a constraint returned " in str(refused.value)
    assert "a reason, or None where the config is wanted" in refused.value.hint
    assert "requires(" in refused.value.hint


def test_a_constraint_that_raises_is_named(tmp_path: Path) -> None:
    sweep = constrained(tmp_path, "lambda c, m: c.worker")
    place = re.escape(f"my_sweep.py:{line_of(tmp_path / 'my_sweep.py', 'lambda c, m')}: ")
    with pytest.raises(SweepFileError, match=f"{place}a constraint raised AttributeError"):
        search_problem(sweep, MACHINE)


def test_a_cost_takes_prices(tmp_path: Path) -> None:
    sweep = replace(load_sweep(written(tmp_path)), objectives=[minimize("cost")])
    with pytest.raises(SweepFileError, match="cost has no prices"):
        search_problem(sweep, MACHINE)


def test_what_is_trained_must_be_a_trainable(tmp_path: Path) -> None:
    path = written(tmp_path, "SWEEP = Sweep(train, question='?', space={'lr': 3})\n")
    error = refusal(path)

    assert error.message == f"{path}:{line_of(path, 'SWEEP')}: trainable = train is not allowed"
    assert "a Trainable" in error.hint


@knobs
class _Config:
    lr: float = learning(default=0.1, gt=0, doc="step size")


@pytest.mark.parametrize(
    ("reports", "own"),
    [
        ([maximize("val_auc")], maximize("val_auc")),
        ([minimize("val_loss"), maximize("test_acc")], minimize("val_loss")),
        ([minimize("val_loss"), maximize("val_f1_acc")], maximize("val_f1_acc")),
        ([minimize("val_loss"), maximize("val_acc")], maximize("val_acc")),
        ([maximize("test_acc")], maximize("val_acc")),
        ([], maximize("val_acc")),
    ],
)
def test_where_nothing_is_asked_for_it_is_what_the_trainable_reports(
    reports: list[Objective], own: Objective
) -> None:
    trainable = Trainable(lambda config, run: None, _Config, reports=reports, name="t")
    sweep = Sweep(trainable, question="?", space=_Config())
    assert list(sweep.objectives) == [maximize("samples_per_s"), own]
    asked = [maximize("samples_per_s"), maximize("val_acc")]
    assert Sweep(trainable, question="?", space=_Config(), objectives=asked).objectives == asked
