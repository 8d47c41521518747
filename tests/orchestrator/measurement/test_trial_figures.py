"""Figures and tags from a recording."""

import math
import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
import torch

from orchestrator.measurement.blocks import Block, Epoch, Phase
from orchestrator.measurement.bound import Bound, bound_by_phases, bound_of
from orchestrator.measurement.trial_figures import (
    ALWAYS_UP_TO,
    Recording,
    ReportedFigures,
    checked_figures,
    figures,
    verdicts,
)
from orchestrator.measurement.usage import Usage
from orchestrator.trial import TrialResult, TrialState
from tests.orchestrator.measurement.fakes import blocks_from, context


@pytest.mark.parametrize(
    ("cold_s", "step_s", "warm_s", "is_slow"),
    [
        (0.9, 0.05, 2, False),
        (4.5, 0.05, 9, False),
        (12, 0.05, 28, True),
        pytest.param(9, 0.05, 400, False, id="too short to matter"),
        pytest.param(12, 0.0204, 28, False, id="a drift of two per cent"),
    ],
)
def test_slower_steps_at_the_start_are_a_warm_up_or_other_load_by_their_time(
    cold_s: float, step_s: float, warm_s: float, is_slow: bool
) -> None:
    durations = [step_s] * round(cold_s / step_s) + [0.02] * round(warm_s / 0.02)
    tags = verdicts(recording(blocks_from([[0.5, *durations]])))
    cut_s = float(tags["warm_up"].partition(" s (")[0])
    assert cut_s == pytest.approx(cold_s, abs=(cold_s + warm_s) / 32)
    result = TrialResult(state=TrialState.COMPLETED, tags={**tags, "contaminated": "false"})
    assert result.disturbed == tags.get("slow_start", "")
    assert bool(result.disturbed) is is_slow
    assert "warm_up" not in verdicts(recording(blocks_from([[0.02] * 400])))


def recording(blocks: Sequence[Block], **changes: Any) -> Recording:  # noqa: ANN401
    epoch = Epoch(index=0, start_s=0.25, duration_s=2.0)
    fields = {
        "context": context(), "blocks": blocks, "epochs": [epoch], "memory": [],
        "num_epochs": 1, "num_steps": 40, "train_s": 2.0, "eval_s": None, "usage": Usage(),
        "peak_gpu_bytes": None, "set_up_s": 1.0, "copied_s": None,
    }  # fmt: skip
    return Recording(**{**fields, **changes})


def steady(**phases: float) -> list[Block]:
    """Return one steady block of 40 steps in 2 s, its phases in seconds."""
    return [
        Block(
            epoch=0, first_step=1, num_steps=40, samples=400, duration_s=2.0, end=None,
            phases={Phase(name): seconds for name, seconds in phases.items()},
        )
    ]  # fmt: skip


def test_a_figure_that_was_not_measured_is_absent() -> None:
    found = figures(recording(steady(wait=0.5)))
    for name in ("eval_s", "peak_gpu_gib", "copy_ms", "forward_ms", "host_ms", "peak_pss_gib"):
        assert name not in found
    assert figures(recording([], epochs=[], num_epochs=0, num_steps=0)) == {"epochs": 0, "steps": 0}


def test_figures_are_those_of_the_recording() -> None:
    found = figures(recording(steady(wait=0.4), eval_s=3.0, peak_gpu_bytes=2**30, copied_s=0.08))
    assert found["samples_per_s"] == 200
    assert (found["step_ms"], found["wait_ms"]) == (50, 10)
    assert (found["epoch_s"], found["epoch_start_s"], found["first_epoch_s"]) == (2, 0.25, 2)
    assert (found["eval_s"], found["peak_gpu_gib"], found["copy_ms"]) == (3, 1, 2)


def test_usage_is_a_share_of_the_cores_and_of_the_cpu_time() -> None:
    usage = Usage(user_s=2.4, system_s=0.8, minor_faults=80)
    found = figures(recording(steady(wait=0.0), usage=usage, context=context(num_cores=2)))
    assert found["cpu_util"] == pytest.approx(3.2 / 2.0 / 2)
    assert found["system_time_share"] == pytest.approx(0.25)
    assert found["faults_per_step"] == 2


def test_more_processes_than_cores_are_oversubscribed() -> None:
    few = recording([], context=context(num_cores=2, num_workers=1))
    many = recording([], context=context(num_cores=2, num_workers=2))
    assert verdicts(few)["oversubscribed"] == "false"
    assert verdicts(many)["oversubscribed"] == "true"


def test_a_narrow_interval_is_called_narrow() -> None:
    assert verdicts(recording(blocks_from([[0.01] * 200])))["interval"] == "narrow"
    uneven = blocks_from([[0.01, 0.03] * 3 + [0.02, 0.05] * 3])
    assert verdicts(recording(uneven))["interval"] == "wide"


def test_figures_of_few_blocks_are_never_old_and_those_of_many_a_fiftieth_at_most() -> None:
    reported = ReportedFigures()
    for number in (1, 2, 3):
        now = recording(steady(wait=0.1) * number)
        assert reported.of(now) == (figures(now), verdicts(now))
    made = []
    for number in range(2 * ALWAYS_UP_TO):
        blocks = steady(wait=0.1 + number / 1000) * (ALWAYS_UP_TO + number)
        now = recording(blocks, num_steps=number, train_s=1.0 + number)
        found, _ = reported.of(now)
        assert (found["steps"], found["train_s"]) == (number, 1.0 + number), "never old"
        made.append(found["wait_ms"])
    assert 50 < len(set(made)) < 100


SERIAL = {"is_serial": True}


@pytest.mark.parametrize(
    ("parts", "bound"),
    [
        ({"loader_s": 1.1}, Bound.LOADER),
        ({}, Bound.TRANSFER),
        pytest.param({"compute_share": 1.0}, Bound.TRANSFER, id="a transfer does not compute"),
        ({"transfer_ms": 1.0, "compute_share": 0.6}, Bound.COMPUTE),
        ({"transfer_ms": 1.0, "compute_share": 0.3}, Bound.HOST),
        pytest.param({"transfer_ms": 1.0, "compute_share": None}, Bound.COMPUTE, id="unknown"),
        ({"copy_s": 1.1}, Bound.TRANSFER),
        ({"loader_s": 1.2, "copy_s": 1.1}, Bound.LOADER),
        ({"loader_s": 0.6, "copy_s": 0.7, **SERIAL}, Bound.TRANSFER),
        ({"loader_s": 0.7, "copy_s": 0.6, **SERIAL}, Bound.LOADER),
        ({"loader_s": 0.4, "copy_s": 0.5, "transfer_ms": 0.0, **SERIAL}, Bound.HOST),
    ],
)
def test_the_larger_of_two_ceilings_binds_and_then_the_largest_part(
    parts: dict[str, float], bound: Bound
) -> None:
    usual = {
        "loader_s": 0.9, "copy_s": 0.0, "is_serial": False, "model_s": 1.0,
        "step_ms": 10.0, "transfer_ms": 6.0, "compute_share": 0.4,
    }  # fmt: skip
    assert bound_of(**{**usual, **parts}) is bound


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        ({"wait_ms": 6.0, "forward_ms": 1.0, "backward_ms": 2.0}, Bound.LOADER),
        ({"wait_ms": 1.0, "transfer_ms": 5.0, "forward_ms": 3.0}, Bound.TRANSFER),
        ({"wait_ms": 1.0, "forward_ms": 4.0, "backward_ms": 4.0}, Bound.COMPUTE),
        ({"wait_ms": 1.0, "forward_ms": 2.0, "optimizer_ms": 1.0}, Bound.HOST),
        ({"wait_ms": 6.0}, None),
    ],
)
def test_the_largest_phase_of_a_step_is_its_bound(
    parts: dict[str, float], expected: Bound | None
) -> None:
    assert bound_by_phases({"step_ms": 10.0, **parts}) is expected


# -- figures of the training function


def test_whatever_contains_a_single_number_is_one() -> None:
    figures = {
        "val_acc": torch.tensor(0.5), "own": np.float32(2.0), "steps": 3, "done": True,
        "one": torch.tensor([1.0]), "matrix": np.array([[0.5]]),
        "rounded_acc": 1 + 1e-7, "test_acc": -1e-9, "loss": 1 + 1e-7,
    }  # fmt: skip
    checked = checked_figures(figures)
    assert checked == {
        "val_acc": 0.5, "own": 2.0, "steps": 3.0, "done": 1.0, "one": 1.0, "matrix": 0.5,
        "rounded_acc": 1.0, "test_acc": 0.0, "loss": 1 + 1e-7,
    }  # fmt: skip
    assert {type(figure) for figure in checked.values()} == {float}
    assert math.isnan(checked_figures({"val_auc": float("nan")})["val_auc"]), "is not known"


@pytest.mark.parametrize(
    ("name", "value", "error", "message"),
    [
        ("val_acc", 93.4, ValueError,
         "val_acc is 93.4, and accuracies are fractions of 1: divide it by 100"),
        ("test_acc", -0.1, ValueError, "test_acc is -0.1, and accuracies are fractions of 1"),
        ("val_acc", 640, ValueError, "val_acc is 640, and accuracies are fractions of 1"),
        ("val_acc", "0.5", TypeError, "val_acc is reported as a str: report one number"),
        ("val_acc", None, TypeError, "val_acc is reported as a NoneType: report one number"),
        ("own", torch.zeros(2), TypeError, "own is reported as a Tensor: report one number"),
        ("own", 10**400, TypeError, "own is reported as a int: report one number"),
        ("own", {"a": 1}, TypeError, "own is reported as a dict: report one number"),
    ],
)  # fmt: skip
def test_what_is_no_figure_is_refused(
    name: str, value: object, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=f"^{re.escape(message)}$"):
        checked_figures({"fine": 1.0, name: value})
