"""Laws of every followed loop: its run measures, reports and ends a training."""

from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from orchestrator.measurement.ceilings import measure_ceilings
from orchestrator.trial import Stage
from tests.orchestrator.integrations.loops import make_run

pytestmark = [pytest.mark.filterwarnings("ignore"), pytest.mark.usefixtures("home")]


@pytest.fixture(params=["lightning", "transformers"])
def loop(request: pytest.FixtureRequest) -> Any:
    """A module with ``fit(run, **more)``; it skips where its framework is absent."""
    return import_module(f"tests.orchestrator.integrations.{request.param}_loop")


def test_a_training_is_measured_and_reported_by_epoch(loop: Any, tmp_path: Path) -> None:
    run, reports = make_run(tmp_path, epochs=3)
    loop.fit(run)
    assert [report.epoch for report in reports.kept] == [1, 2, 3]
    assert reports.of("steps") == [5, 10, 15]
    assert [report.samples for report in reports.kept] == [20, 40, 60]
    accuracies = reports.of("val_acc")
    assert all(accuracy is not None and 0 <= accuracy <= 1 for accuracy in accuracies)
    assert None not in reports.of("train_loss")
    assert None not in reports.of("epoch_s")
    last = reports.kept[-1].metrics
    assert [phase for phase in loop.PHASES if phase not in last] == []
    assert last["eval_s"] > 0
    assert last["epochs"] == 3
    assert sum(last[phase] for phase in loop.PHASES) < 1.01 * last["step_ms"]


def test_the_budget_may_be_steps(loop: Any, tmp_path: Path) -> None:
    run, reports = make_run(tmp_path, epochs=9, steps=7)
    assert len(loop.fit(run).losses) == 7
    assert reports.of("steps") == [5, 7]
    assert None not in reports.of("val_acc"), "evaluated where the budget ends, within an epoch"


def test_a_pause_ends_after_its_epoch(loop: Any, tmp_path: Path) -> None:
    run, reports = make_run(tmp_path, epochs=3, pause_after=1)
    loop.fit(run)
    assert len(reports.kept) == 1
    assert reports.of("val_acc") != [None]
    assert run.ending[1] == "paused after 1 of 3 epochs"


def test_nothing_is_evaluated_where_speed_alone_counts(loop: Any, tmp_path: Path) -> None:
    run, reports = make_run(tmp_path, evaluated=False)
    loop.fit(run)
    assert len(reports.kept) == 2
    assert "eval_s" not in reports.kept[-1].metrics
    assert "val_acc" not in reports.kept[-1].metrics


def test_probes_are_known_by_their_batches_and_first_loss(loop: Any, tmp_path: Path) -> None:
    seen = []
    for seed in (1, 1, 2):
        run, reports = make_run(tmp_path, evaluated=False, seed=seed, stage=Stage.PROBE)
        losses = loop.fit(run).losses
        last = reports.kept[-1]
        assert last.metrics["first_loss"] == pytest.approx(losses[0])
        seen.append((last.tags["batches"], losses[0]))
    assert seen[0] == seen[1] != seen[2]


def test_an_evaluation_within_an_epoch_is_no_step(loop: Any, tmp_path: Path) -> None:
    run, reports = make_run(tmp_path)
    loop.fit(run, **loop.EVALUATING_WITHIN)
    assert reports.of("steps") == [5, 10]
    assert [report.samples for report in reports.kept] == [20, 40]
    assert None not in reports.of("val_acc")
    assert reports.of("epoch_s") == [None, None]


def test_a_step_is_one_of_the_optimizer(loop: Any, tmp_path: Path) -> None:
    run, reports = make_run(tmp_path)
    trained = loop.fit(run, **loop.ACCUMULATING)
    assert reports.of("steps") == [3, 6]
    assert len(trained.losses) == 10
    assert reports.kept[-1].samples == 40


def test_ceilings_are_measured(loop: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("orchestrator.measurement.ceilings.MAX_SHARE", 1000)
    run, _ = make_run(tmp_path, epochs=4)
    loop.fit(run)
    ceilings = measure_ceilings(loop.fit, run)
    assert ceilings.metrics["loader_only_samples_per_s"] > 0
    assert ceilings.metrics["compute_only_samples_per_s"] > 0
