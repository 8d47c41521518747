"""Every knob of every trainable keeps the promise of its role, or has a reason not to here."""

import json
import math
import os
import statistics
from collections.abc import Mapping
from functools import cache
from types import MappingProxyType
from typing import Any

import pytest
import torch
from _pytest.mark import ParameterSet

from orchestrator.space.configs import knobs_of, replaced
from orchestrator.space.knob import Role
from orchestrator.system.allocators import allocator_environment, find_jemalloc
from orchestrator.trial import Stage
from tests.conftest import ROOT
from tests.helping import python
from tests.trainables.contract import CASES, HERE, WITH_GPU, Case, Setting, is_a_test
from tests.trainables.running import Operation, Reports, context, operations, train_once

TOLERANCE = 1e-4
"""For a loss: float32 sums in another order. TF32 on GPUs is coarser: see below."""
GPU_TOLERANCE = 5e-3
SAME = 4.0
"""Most standard errors between means of one distribution, except for one pair in 10,000."""

SYSTEMS = (Role.SYSTEMS,)
LEARNING = (Role.LEARNING,)
LEARNED = (Role.LEARNING, Role.BOTH)


def over(*roles: Role) -> list[ParameterSet]:
    """Return all settings of the trainables' knobs with these roles, except those of ``quick``."""
    return [
        pytest.param(case, setting, id=f"{case.trainable.name}-{setting}")
        for case in CASES
        for setting in case.settings(*roles)
        if getattr(case.quick, setting.knob.name) != setting.value
    ]


STEPS = 12
"""More than the ten of an epoch, so that the end of an epoch is among them."""


@cache
def trained(case: Case, config: object, device: str = "cpu", steps: int = STEPS) -> Reports:
    """Reports of a run of two epochs, which has a fingerprint as probes have."""
    where = context(case.data, epochs=2, steps=steps, device=device, stage=Stage.PROBE)
    return train_once(case.trainable, config, where)


@cache
def operations_of(case: Case, config: object) -> list[list[Operation]]:
    """Operations of each of three steps."""
    return operations(case.trainable, config, context(case.data, steps=3))


@pytest.mark.parametrize(("case", "setting"), over(*SYSTEMS))
def test_a_systems_knob_changes_nothing_that_is_learned(case: Case, setting: Setting) -> None:
    config = case.config(setting)
    assert getattr(config, setting.knob.name) == setting.value, "the setting means nothing here"
    if (reason := case.trainable.infeasible(config, HERE)) is not None:
        pytest.skip(f"infeasible here: {reason}")
    expected, found = trained(case, case.quick), trained(case, config)
    assert expected.kept[-1].step == found.kept[-1].step == STEPS
    assert found.metric("train_loss") == pytest.approx(expected.metric("train_loss"), rel=TOLERANCE)
    score = case.trainable.reports[0].metric
    assert found.metric(score)[-1] == pytest.approx(expected.metric(score)[-1], abs=0.02)
    assert found.metric("first_loss") == pytest.approx(expected.metric("first_loss"), rel=1e-5)
    assert found.kept[-1].tags["batches"] == expected.kept[-1].tags["batches"]


@pytest.mark.gpu
@pytest.mark.parametrize(("case", "setting"), over(*SYSTEMS))
def test_a_systems_knob_changes_nothing_on_a_gpu(case: Case, setting: Setting) -> None:
    config = replaced(case.config(setting), case.same_on_gpu)
    if (reason := case.trainable.infeasible(config, WITH_GPU)) is not None:
        pytest.skip(f"infeasible there: {reason}")
    expected = trained(case, replaced(case.quick, case.same_on_gpu))
    found = trained(case, config, device="cpu" if config.device == "cpu" else "cuda:0")
    losses = expected.metric("train_loss")
    assert found.metric("train_loss") == pytest.approx(losses, rel=GPU_TOLERANCE)


def losses_of(
    case: Case,
    *,
    seeds: range,
    device: str = "cpu",
    knobs: Mapping[str, object] = MappingProxyType({}),
) -> list[float]:
    """The loss after 20 steps with each seed."""
    config = replaced(case.quick, knobs)
    where = [context(case.data, epochs=2, steps=20, seed=s, device=device) for s in seeds]
    return [train_once(case.trainable, config, w).metric("train_loss")[-1] for w in where]


DRAWING = [case for case in CASES if case.same_on_gpu]
"""Trainables that draw from the device's own generator, for dropout: see their ``device``."""


@pytest.mark.gpu
@pytest.mark.parametrize("case", DRAWING, ids=lambda case: case.trainable.name)
def test_what_a_gpu_draws_is_the_same_in_distribution(case: Case) -> None:
    losses = losses_of(case, seeds=range(12))
    there = losses_of(case, seeds=range(12), device="cuda:0")
    error = math.sqrt(sum(statistics.variance(each) / 12 for each in (losses, there)))
    assert abs(statistics.fmean(losses) - statistics.fmean(there)) / error < SAME


@pytest.mark.parametrize(("case", "setting"), over(*LEARNED))
def test_a_knob_that_changes_what_is_learned_does_so(case: Case, setting: Setting) -> None:
    config = case.config(setting)
    if (reason := case.trainable.infeasible(config, HERE)) is not None:
        pytest.skip(f"infeasible here: {reason}")
    without = trained(case, case.config(setting, unset=True))
    assert trained(case, config).metric("train_loss") != without.metric("train_loss")


@pytest.mark.parametrize(("case", "setting"), over(*LEARNING))
def test_a_learning_knob_does_not_change_the_work_of_a_step(case: Case, setting: Setting) -> None:
    """The same operations on the same shapes: they take the time, and have no noise."""
    steps = operations_of(case, case.config(setting))
    expected = operations_of(case, case.config(setting, unset=True))
    # The first step also allocates what the optimizer keeps, momentum for one.
    assert steps[1:] == expected[1:]
    assert len(steps[1]) > 10


LEARNED_THERE = """
import json, sys
from pathlib import Path
from tests.trainables.contract import CASES
from tests.trainables.test_contract import trained

losses = {case.trainable.name: trained(case, case.quick).metric("train_loss") for case in CASES}
sys.stdout.write(json.dumps(["jemalloc" in Path("/proc/self/maps").read_text(), losses]))
"""


def printed(script: str, *args: str, allocator: str) -> Any:  # noqa: ANN401 - what it prints
    """Return the last line that a script prints, in a process with the allocator."""
    finished = python(
        "-c", script, *args,
        env={**allocator_environment(allocator, os.environ), "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    return json.loads(finished.stdout.splitlines()[-1])


@pytest.mark.slow
def test_an_allocator_changes_nothing_that_is_learned() -> None:
    """The page faults show that glibc's settings are in force: see test_allocators.py.

    This process has the default one.
    """
    here = {case.trainable.name: trained(case, case.quick).metric("train_loss") for case in CASES}
    allocator = "jemalloc" if find_jemalloc() else "tuned"
    is_jemalloc, losses = printed(LEARNED_THERE, allocator=allocator)
    assert is_jemalloc is (allocator == "jemalloc")
    assert losses.keys() == here.keys()
    for name, expected in here.items():
        assert losses[name] == pytest.approx(expected, rel=TOLERANCE), name


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.trainable.name)
@pytest.mark.parametrize("allocator", ["default", "tuned", "jemalloc"])
def test_the_allocator_is_part_of_the_demand(case: Case, allocator: str) -> None:
    config = type(case.quick)(allocator=allocator)
    assert case.trainable.demand(config, HERE).allocator == allocator


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.trainable.name)
def test_workers_and_gpus_are_asked_for(case: Case) -> None:
    config = type(case.quick)(num_workers=3, prefetch_factor=4)
    if config.has_loader():
        demand = case.trainable.demand(config, HERE)
        assert (demand.workers, demand.burst) == (3, 12)
    for device, gpus in {"auto": 1, "cpu": 0, "cuda": 1}.items():
        assert case.trainable.demand(type(case.quick)(device=device), WITH_GPU).gpus == gpus
    assert case.trainable.demand(type(case.quick)(), HERE).gpus == 0


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.trainable.name)
def test_every_knob_is_tried(case: Case) -> None:
    tried = {setting.knob.name for setting in case.settings(*Role)}
    assert tried | set(case.elsewhere) == set(knobs_of(case.quick))
    assert all(map(is_a_test, case.elsewhere.values()))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.trainable.name)
def test_the_defaults_run_here_and_with_a_gpu(case: Case) -> None:
    for machine in (HERE, WITH_GPU):
        assert case.trainable.infeasible(case.trainable.config(), machine) is None


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.trainable.name)
@pytest.mark.parametrize(
    ("knob", "value"),
    [
        ("device", "cuda"),
        ("amp", "fp16"),
        ("amp", "tf32"),
        ("pin_memory", True),
        ("prefetch", "stream"),
    ],
)
def test_what_needs_a_gpu_gives_a_reason_without_one(case: Case, knob: str, value: object) -> None:
    """The tests on a GPU show that it runs with one."""
    if knob not in knobs_of(case.quick):
        pytest.skip(f"{case.trainable.name} has no {knob}")
    reason = case.trainable.infeasible(case.trainable.config(**{knob: value}), HERE)
    assert "needs 1 GPU" in str(reason) if knob == "device" else f"{knob}={value} " in str(reason)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.trainable.name)
def test_a_stream_needs_page_locked_batches(case: Case) -> None:
    if "prefetch" not in knobs_of(case.quick):
        pytest.skip(f"{case.trainable.name} fetches nothing ahead")
    reason = case.trainable.infeasible(case.trainable.config(prefetch="stream"), WITH_GPU)
    assert "prefetch=stream needs pin_memory=True" in str(reason)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.trainable.name)
def test_a_run_reports_what_the_trainable_declares(case: Case) -> None:
    metrics = trained(case, case.quick).kept[-1].metrics
    declared = {objective.metric for objective in case.trainable.reports}
    if "val_acc" in declared:
        declared -= {"val_auc"}  # a classifier's, of two classes; these sets have more
    assert declared <= set(metrics)
    for phase in ("wait", "transfer", "forward", "backward", "optimizer"):
        assert f"{phase}_ms" in metrics


@pytest.mark.gpu
@pytest.mark.parametrize("amp", ["tf32", "bf16", "fp16"])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.trainable.name)
def test_mixed_precision_learns_on_a_gpu(case: Case, amp: str) -> None:
    plain = replaced(case.quick, case.same_on_gpu)
    config = replaced(plain, {**case.contexts.get(f"amp={amp}", {}), "amp": amp})
    assert case.trainable.infeasible(config, WITH_GPU) is None
    losses = trained(case, config, device="cuda:0", steps=20).metric("train_loss")
    assert losses[-1] < losses[0]
    # In fp16 the scaler skips steps until it has found its scale: two of these 20, for GraphSAGE.
    expected = trained(case, plain, steps=20).metric("train_loss")
    assert losses == pytest.approx(expected, rel=0.15 if amp == "fp16" else 0.05)
    torch.cuda.empty_cache()
