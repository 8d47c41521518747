"""Objectives, rule, costs, target and prices are checked before anything has run."""

from __future__ import annotations

from pathlib import Path

import pytest

from orchestrator.errors import SweepFileError
from orchestrator.machine import Machine, Node
from orchestrator.sweep.loading import load_sweep
from orchestrator.sweep.objectives import known_metrics
from orchestrator.sweep.problem import search_problem
from tests.orchestrator.sweep.refusals import refusal
from tests.orchestrator.sweep_files import line_of, written

IMPORTS = "from orchestrator import at_least, at_most, fastest_within, knee, minimize, weighted\n"
BAD_FIELDS = [
    ("objectives=[]", "objectives has 0 entries", "one to 3 of maximize(...)"),
    ("objectives=[at_least('val_acc', 0.9)]", "objectives has conditions alone",
     "at least one of maximize(...)"),
    ("objectives=[maximize('samples_per_s'), maximize('test_acc')]",
     "objectives: 'test_acc' would select by the test split", "validation metrics"),
    ("objectives=[maximize(m) for m in ('epoch_s', 'val_acc', 'steps', 'eval_s')]",
     "objectives has 4 entries", "one to 3"),
    ("objectives=['val_acc', maximize('epoch_s')]", "objectives: 'val_acc' is not allowed",
     "maximize(...)"),
    ("objectives='val_acc'", "objectives = 'val_acc' is not allowed", "maximize(...)"),
    ("objectives=[maximize('epoch_s'), maximize('val_ac')]",
     "objectives: unknown metric 'val_ac'; did you mean 'val_acc'?", "samples_per_s, "),
    ("objectives=[minimize('time_to_acuracy_s')]", "did you mean 'time_to_accuracy_s'?", "goodput"),
    ("objectives=[maximize('val_acc'), maximize('val_acc')]", "'val_acc' is named twice", "one to"),
    ("objectives=[maximize('val_acc'), minimize('val_acc')]", "'val_acc' is named twice", "one to"),
    ("objectives=[maximize('epoch_s'), at_least('val_acc', 0.9), at_most('val_acc', 0.8)]",
     "objectives: 'val_acc' is to be at least 0.9 and at most 0.8", "a value between them"),
    ("objectives=[maximize(5), maximize('val_acc')]", "Objective: metric = 5 is not allowed",
     "the name of a metric"),
    ("objectives=[maximize('epoch_s'), at_least('val_acc', 97)]",
     "objectives: val_acc: bound = 97 is not allowed", "a fraction of 1, so 0.97 for 97 %"),
    ("objectives=[maximize('epoch_s'), at_most('peak_rss_gib', '20')]",
     "Objective: bound = '20' is not allowed", "a number"),
    ("objectives=[maximize('epoch_s'), maximize('val_acc', tolerance=1.5)]",
     "objectives: val_acc: tolerance = 1.5 is not allowed", "a fraction of 1"),
    ("objectives=[maximize('epoch_s'), minimize('peak_rss_gib', tolerance=-1)]",
     "objectives: peak_rss_gib: tolerance = -1 is not allowed", "a number >= 0"),
    ("rule=fastest_within('val_ac', 0.01)",
     "rule: 'val_ac' is no objective of the sweep; did you mean 'val_acc'?", "samples_per_s"),
    ("rule=fastest_within('val_acc', 1.2)", "tolerance = 1.2 is not allowed", "a fraction of 1"),
    ("rule=fastest_within(tolerance=0.01)", "rule: a tolerance of 0.01 of no objective",
     'fastest_within("val_acc", 0.01)'),
    ("rule=fastest_within('val_acc')", "rule: val_acc has no tolerance",
     'fastest_within("val_acc", 0.01)'),
    ("rule=fastest_within(relative=True)", "rule: relative = True without a tolerance",
     'fastest_within("val_acc", 0.01)'),
    ("rule=knee", "rule = knee is not allowed", "knee is to be called: knee(...)"),
    ("rule='knee'", "rule = 'knee' is not allowed", "knee()"),
    ("rule=weighted()", "rule = weighted() has no weights", "weighted(samples_per_s=1, ...)"),
    ("rule=weighted(val_acc=0)", "rule: weight of val_acc = 0 is not allowed", "a number > 0"),
    ("rule=weighted(epoch_s=1)", "rule: 'epoch_s' is no objective of the sweep", "val_acc"),
    ("costs='workers'", "costs = 'workers' is not allowed", "a list of names"),
    ("costs=['worker']", "did you mean 'workers'?", "knobs: lr, workers"),
    ("costs=['amp']", "costs: 'amp' is no knob that is a number", "knobs: lr, workers"),
    ("target=97", "target = 97 is not allowed", "a fraction of 1, at_least(...)"),
    ("target=at_least('val_acc', 1.5)", "target: val_acc: bound = 1.5 is not allowed", "0.97"),
    ("target=at_least('val_ac', 0.9)", "target: unknown metric 'val_ac'", "val_acc"),
    ("prices={'cpu_hours': 1}", "unknown price 'cpu_hours'; did you mean 'cpu_hour'?", "gpu_hour"),
    ("prices={'cpu_hour': -1}", "prices: cpu_hour = -1 is not allowed", "a number >= 0"),
    ("prices=3", "prices = 3 is not allowed", "cpu_hour and gpu_hour"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("field", "message", "allowed"), BAD_FIELDS, ids=[field for field, _, _ in BAD_FIELDS]
)
def test_a_bad_field_is_named_with_its_line_and_what_is_allowed(
    tmp_path: Path, field: str, message: str, allowed: str
) -> None:
    error = refusal(sweep_of(tmp_path, field))
    place, _, said = error.message.partition(": ")
    assert place == f"{tmp_path}/my_sweep.py:{line_of(tmp_path / 'my_sweep.py', f'    {field},')}"
    assert message in said
    assert allowed in error.hint


@pytest.mark.parametrize(
    "field",
    [
        "objectives=[maximize('samples_per_s')]",
        "objectives=[maximize('samples_per_s'), at_least('val_acc', 0.97)]",
        "objectives=[minimize('time_to_accuracy_s'), maximize('goodput'), at_most('epoch_s', 9)]",
        "objectives=[maximize('val_acc'), minimize('peak_rss_gib', tolerance=0.1, relative=True)]",
        "rule=lambda configs: 0",
        "rule=fastest_within('val_acc', 0.01)",
        "rule=weighted(samples_per_s=1, val_acc=10)",
        "costs=('workers', 'peak_rss_gib')",
        "target=0.97",
        "target=maximize('val_acc', tolerance=0.005)",
    ],
)
def test_what_is_allowed_is_taken_over(tmp_path: Path, field: str) -> None:
    plain, name = load_sweep(written(tmp_path, name="plain.py")), field.partition("=")[0]
    taken = load_sweep(sweep_of(tmp_path, field))
    assert getattr(taken, name) != getattr(plain, name)


def test_a_target_is_of_the_accuracy_that_is_an_objective(tmp_path: Path) -> None:
    sweep = load_sweep(sweep_of(tmp_path, "target=0.97"))
    assert (sweep.aim.metric, sweep.aim.bound) == ("val_acc", 0.97)


def test_a_cost_takes_prices(tmp_path: Path) -> None:
    sweep = load_sweep(sweep_of(tmp_path, "objectives=[minimize('cost')]"))
    with pytest.raises(SweepFileError, match="cost has no prices"):
        search_problem(sweep, Machine(nodes=(Node(name="here", cpus=1),)))


def test_a_trial_may_be_judged_by_what_is_measured_and_what_its_trainable_reports(
    tmp_path: Path,
) -> None:
    known = known_metrics(load_sweep(written(tmp_path)).trainable)
    assert {"samples_per_s", "epoch_s", "val_acc", "time_to_accuracy_s", "cost"} <= set(known)
    assert len(known) == len(set(known))


def sweep_of(tmp_path: Path, field: str) -> Path:
    rest = "    question='?',\n    space=Config(lr=choice(0.1, 0.2)),\n"
    return written(tmp_path, f"{IMPORTS}SWEEP = Sweep(\n    TRAINABLE,\n{rest}    {field},\n)\n")
