"""A run that pauses, or continues from a checkpoint."""

import random
from collections.abc import Callable
from pathlib import Path
from pickle import UnpicklingError

import numpy as np
import pytest
import torch

from orchestrator.measurement.context import random_state, set_random_state
from orchestrator.measurement.run import Run
from orchestrator.measurement.time_slices import TimeSlices
from orchestrator.trial import Budget, Report
from tests.orchestrator.measurement.fakes import FakeClock, Listener, context


def test_resumes_from_a_checkpoint(tmp_path: Path) -> None:
    clock = FakeClock()
    first = Run(context(budget=Budget(epochs=5), checkpoint_dir=tmp_path), Listener(), clock=clock)
    assert first.restore() is None
    for epoch in first.epochs():
        for _ in first.batches(range(4), samples=lambda _: 2):
            clock.sleep(0.001)
        first.checkpoint({"weights": torch.full((3,), float(epoch)), "note": "plain"})
        if epoch == 2:
            break
    listener = Listener()
    second = Run(context(budget=Budget(epochs=5), checkpoint_dir=tmp_path), listener)
    state = second.restore()
    assert state["weights"].tolist() == [2.0, 2.0, 2.0]
    assert list(second.epochs()) == [3, 4]
    second.report()
    assert (listener.reports[-1].step, second.restored_epochs) == (12, 3)


def test_resumed_training_has_the_times_and_random_numbers_of_one_run(tmp_path: Path) -> None:
    def drawn(run: Run, clock: FakeClock) -> list[float]:
        clock.sleep(5.0)  # set-up
        run.restore()
        numbers = []
        for _ in run.epochs():
            for _ in run.batches(range(4), samples=lambda _: 2):
                clock.sleep(0.25)
            with run.evaluating():
                clock.sleep(0.5)
            numbers += [random.random(), float(np.random.rand()), float(torch.rand(1))]
            run.report()
            run.checkpoint({})
        return numbers

    def one(budget: Budget, folder: Path | None) -> tuple[list[float], list[Report]]:
        clock, listener = FakeClock(), Listener()
        run = Run(context(budget=budget, checkpoint_dir=folder), listener, clock=clock)
        return drawn(run, clock), listener.reports

    random.seed(3)
    np.random.seed(3)
    torch.manual_seed(3)
    before = random_state()
    numbers, reports = one(Budget(epochs=4), None)
    set_random_state(before)
    first_numbers, first = one(Budget(epochs=4, pause_after=1), tmp_path)
    later_numbers, later = one(Budget(epochs=4), tmp_path)
    assert first_numbers + later_numbers == numbers
    for name in ("train_s", "eval_s"):
        whole = [report.metrics[name] for report in reports]
        assert [r.metrics[name] for r in (*first, *later)] == pytest.approx(whole)
    elapsed = [report.elapsed_s for report in (*first, *later)]
    assert elapsed == pytest.approx([report.elapsed_s for report in reports]), "one set-up counts"


def test_the_test_split_waits_for_the_end_of_the_budget() -> None:
    def may_look(budget: Budget) -> bool:
        return Run(context(budget=budget, evaluate_test=True), Listener()).evaluate_test

    assert may_look(Budget(epochs=4))
    assert not may_look(Budget(epochs=4, pause_after=3))


def test_a_checkpoint_never_runs_code(tmp_path: Path) -> None:
    marker = tmp_path / "ran"

    class Evil:
        def __reduce__(self) -> tuple[Callable[..., object], tuple[object, ...]]:
            return (Path.touch, (marker,))

    torch.save({"state": Evil()}, tmp_path / "checkpoint.pt")
    with pytest.raises(UnpicklingError):
        Run(context(checkpoint_dir=tmp_path), Listener()).restore()
    assert not marker.exists()


def trained(budget: Budget, num_batches: int = 10) -> tuple[Run, list[bool], list[float]]:
    """Train in slices; return whether each epoch was the last, and the progress after it."""
    clock, lasts, progress = FakeClock(), list[bool](), list[float]()
    run = Run(context(budget=budget), Listener(), TimeSlices(progress.append, clock=clock))
    for _ in run.epochs():
        for _ in run.batches(range(num_batches), samples=lambda _: 4):
            clock.sleep(1.0)
        lasts.append(run.last_epoch)
    return run, lasts, progress


@pytest.mark.parametrize(
    ("budget", "num_epochs", "pause"),
    [
        (Budget(epochs=3), 3, ""),
        (Budget(epochs=3, steps=15), 2, ""),
        (Budget(epochs=9, pause_after=3), 3, "paused after 3 of 9 epochs"),
        (Budget(epochs=3, pause_after=3), 3, ""),
        (Budget(epochs=3, pause_after=4), 3, ""),
    ],
)
def test_epochs_end_with_the_budget_or_at_a_pause_before(
    budget: Budget, num_epochs: int, pause: str
) -> None:
    run, lasts, progress = trained(budget)
    assert lasts == [*[False] * (num_epochs - 1), True]
    assert run.ending[1] == pause
    assert progress[-1] == 1


def test_the_fraction_is_that_of_the_limit_that_is_reached_first() -> None:
    assert trained(Budget(epochs=10, steps=20), 5)[2] == pytest.approx([0.25, 0.5, 0.75, 1.0])
    assert trained(Budget(epochs=4, steps=99), 5)[2] == pytest.approx([0.25, 0.5, 0.75, 1.0])
