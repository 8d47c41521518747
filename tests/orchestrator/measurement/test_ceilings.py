from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from orchestrator import DataFolders, Demand, Isolation, Machine
from orchestrator.execution.base import Launch, Source
from orchestrator.execution.inline import InlineExecutor
from orchestrator.measurement.bound import Bound, Stay, Supply, bound_of
from orchestrator.trial import Budget, Stage, Trial, TrialResult, TrialState
from tests.orchestrator.execution.conftest import Recorder
from tests.orchestrator.measurement import planted

PRELOAD = ("torch", "torch._dynamo")

Trained = Callable[..., TrialResult]


@pytest.fixture(scope="module")
def executor() -> Iterator[InlineExecutor]:
    made = InlineExecutor([("tuned", PRELOAD), ("default", PRELOAD)])
    yield made
    made.close()


@pytest.fixture
def trained(executor: InlineExecutor, tmp_path: Path) -> Trained:
    """Trains the planted trainable once in a process of its own."""

    def train(*, epochs: int = 4, ceilings: bool = True, **values: Any) -> TrialResult:  # noqa: ANN401
        config = planted.Config(**values)
        asked: Demand = planted.demand(config, Machine(nodes=()))
        launch = Launch(
            trial=Trial(
                id="planted", stage=Stage.TRAIN, config=dict(config.__dict__),
                budget=Budget(epochs=epochs), seed=0,
            ),
            source=Source(file=str(planted.FILE)), demand=asked, num_cores=1,
            isolation=Isolation.LEASED, data="", folders=DataFolders(root=tmp_path, cache=tmp_path),
            preload=PRELOAD, time_limit_s=None, retries=0, scratch=tmp_path / "scratch",
            ceilings_from_s=0.0 if ceilings else None,
        )  # fmt: skip
        recorder = Recorder([launch])
        executor.run(recorder)
        return recorder.results["planted"]

    return train


LOADER = {"resident": False, "sleep_ms": 4.0}
PLANTED = [
    pytest.param(LOADER, "loader", id="a loader that sleeps"),
    pytest.param({**LOADER, "num_workers": 2}, "loader", id="workers that sleep"),
    pytest.param({"hidden": 640}, "compute", id="ten times wider"),
    pytest.param({"hidden": 8, "batch_size": 8}, "host", id="tiny, resident"),
    pytest.param({"hidden": 64, "python_ms": 2.0}, "host", id="Python in the step"),
]


@pytest.mark.parametrize(("values", "bound"), PLANTED)
def test_names_what_bounds_a_trial(trained: Trained, values: dict[str, Any], bound: str) -> None:
    result = trained(**values)
    assert result.state is TrialState.COMPLETED, result.reason
    assert result.tags["bound"] == bound


def test_says_what_a_free_loader_would_give(trained: Trained) -> None:
    metrics = trained(resident=False, sleep_ms=4.0, python_ms=2.0).metrics
    batch = 64
    assert metrics["loader_only_samples_per_s"] == pytest.approx(batch / 0.0042, rel=0.1)
    assert metrics["compute_only_samples_per_s"] == pytest.approx(batch / 0.0024, rel=0.25)
    assert metrics["headroom"] == pytest.approx(
        metrics["compute_only_samples_per_s"] / metrics["samples_per_s"]
    )
    assert 2 < metrics["headroom"] < 4


def test_a_model_is_warm_before_its_ceiling_is_taken(trained: Trained) -> None:
    metrics = trained(epochs=20, python_ms=1.0, cold_steps=45).metrics
    assert metrics["headroom"] == pytest.approx(1, rel=0.15)


def test_a_model_that_is_cold_to_the_end_has_the_trial_s_rate_for_a_ceiling(
    trained: Trained,
) -> None:
    metrics = trained(python_ms=1.0, after="cold").metrics
    assert metrics["headroom"] == 1.0
    assert metrics["compute_only_samples_per_s"] == metrics["samples_per_s"]


def test_leaves_everything_else_as_it_was(trained: Trained, tmp_path: Path) -> None:
    result = trained(epochs=3, steps=70)
    after = tmp_path / "scratch" / "after"
    assert after.read_text() == "after the loop\n", "what follows the loop ran, once"
    assert result.metrics["epochs"] == 3
    assert result.metrics["steps"] == 3 * 70
    assert sum(block[2] for block in result.blocks) == 0, "nothing timed since the last report"
    plain = trained(epochs=3, steps=70, ceilings=False)
    assert "headroom" not in plain.metrics
    assert plain.metrics.keys() < result.metrics.keys()


@pytest.mark.parametrize(
    ("after", "why"),
    [
        ("raise", "AssertionError: told to fail"),
        ("die", "the training process was killed by signal 9"),
    ],
)
def test_a_trial_that_has_completed_has_whatever_its_ceilings_do(
    trained: Trained, after: str, why: str
) -> None:
    result = trained(after=after)
    assert result.state is TrialState.COMPLETED
    assert result.metrics["steps"] == 4 * 60
    assert "headroom" not in result.metrics
    assert "bound" in result.tags, "the phases still tell"
    assert why in result.tags["no_ceilings"]


def test_says_which_knobs_no_prediction_is_to_vary(trained: Trained) -> None:
    assert trained().tags["idle"] == "num_workers"
    assert "idle" not in trained(**LOADER).tags


def test_too_few_steps_have_no_ceilings(trained: Trained) -> None:
    result = trained(epochs=1, steps=2, python_ms=150.0)
    assert result.state is TrialState.COMPLETED
    assert "headroom" not in result.metrics


def test_one_batch_an_epoch_has_ceilings(trained: Trained) -> None:
    result = trained(epochs=60, steps=1, hidden=640, batch_size=512)
    assert result.tags["bound"] == "compute"
    assert result.metrics["headroom"] == pytest.approx(1, rel=0.3)


def test_workers_started_anew_show_in_the_start_of_short_epochs(trained: Trained) -> None:
    short = {"epochs": 6, "steps": 8, "resident": False, "num_workers": 2}
    anew = trained(**short).metrics
    kept = trained(**short, persistent_workers=True).metrics
    assert anew["epoch_start_s"] > 5 * kept["epoch_start_s"]
    cost_s = anew["epoch_s"] - kept["epoch_s"]  # that of ending them too
    assert anew["epoch_start_s"] > 0.5 * cost_s


def test_an_allocator_left_at_its_default_shows_in_faults_a_step(trained: Trained) -> None:
    big = {"epochs": 2, "steps": 40, "scratch_mib": 40, "ceilings": False}
    tuned = trained(**big).metrics["faults_per_step"]
    # 40 MiB are 10,240 pages, given back and faulted in anew in each step.
    default = trained(**big, allocator="default").metrics["faults_per_step"]
    assert default > 5000
    assert tuned < 0.2 * default


def test_the_larger_of_two_ceilings_binds_and_then_the_largest_part() -> None:
    def bound(loader_s: float, transfer_ms: float, covered: float | None) -> Bound:
        stay = Stay(step_ms=10.0, transfer_ms=transfer_ms, covered=covered)
        return bound_of(supply=Supply(loader_s=loader_s), model_s=1.0, stay=stay)

    assert bound(1.1, 6.0, 0.4) is Bound.LOADER
    assert bound(0.9, 6.0, 0.4) is Bound.TRANSFER
    assert bound(0.9, 6.0, 1.0) is Bound.TRANSFER, "what moves does not compute"
    assert bound(0.9, 1.0, 0.6) is Bound.COMPUTE
    assert bound(0.9, 1.0, 0.3) is Bound.HOST
    assert bound(0.9, 1.0, None) is Bound.COMPUTE, "not known is not host"


@pytest.mark.parametrize(
    ("loader_s", "copy_s", "in_turn", "bound"),
    [
        (0.5, 1.1, False, Bound.TRANSFER),
        (1.2, 1.1, False, Bound.LOADER),
        (0.9, 0.9, False, Bound.COMPUTE),
        (0.6, 0.7, True, Bound.TRANSFER),
        (0.7, 0.6, True, Bound.LOADER),
        (0.4, 0.5, True, Bound.COMPUTE),
    ],
)
def test_copies_that_overlap_steps_bind_where_they_take_longer(
    loader_s: float, copy_s: float, in_turn: bool, bound: Bound
) -> None:
    supply = Supply(loader_s=loader_s, copy_s=copy_s, in_turn=in_turn)
    stay = Stay(step_ms=10.0, transfer_ms=0.0, covered=1.0)
    assert bound_of(supply=supply, model_s=1.0, stay=stay) is bound
