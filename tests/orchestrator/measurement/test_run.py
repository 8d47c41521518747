from __future__ import annotations

import contextlib
import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from pickle import UnpicklingError

import pytest
import torch
from torch.utils.data import DataLoader

from orchestrator.measurement.run import Context, Phase, Run, TrialStopped
from orchestrator.trial import Budget, Report


class Listener:
    def __init__(self, stop_at: int = 10**9) -> None:
        self.reports: list[Report] = []
        self._stop_at = stop_at

    def report(self, report: Report) -> bool:
        self.reports.append(report)
        return report.epoch >= self._stop_at


def context(**changes: object) -> Context:
    return Context(**{"seed": 0, "budget": Budget(epochs=2), **changes})  # type: ignore[arg-type]


def test_phases_add_up_to_the_step() -> None:
    listener = Listener()
    run = Run(context(), listener)
    for _ in run.epochs():
        for _ in run.batches(_slow_loader(30, 0.002), samples=lambda _: 5):
            with run.phase(Phase.FORWARD):
                time.sleep(0.003)
            with run.phase(Phase.BACKWARD):
                time.sleep(0.001)
                time.sleep(0.001)
            with run.phase(Phase.OPTIMIZER):
                time.sleep(0.001)
        run.report(val_acc=0.5)
    figures = listener.reports[-1].metrics
    parts = ("wait_ms", "forward_ms", "backward_ms", "optimizer_ms")
    assert sum(figures[part] for part in parts) == pytest.approx(figures["step_ms"], rel=0.03)
    assert figures["forward_ms"] == pytest.approx(3, rel=0.4)
    assert figures["backward_ms"] == pytest.approx(2, rel=0.4)
    assert "transfer_ms" not in figures, "not measured is absent, not 0"
    assert listener.reports[-1].tags["bound"] == "compute"


def _slow_loader(count: int, wait_s: float) -> list[int]:
    class Slow:
        def __iter__(self) -> Iterator[int]:
            for i in range(count):
                time.sleep(wait_s)
                yield i

    return Slow()  # type: ignore[return-value]


def test_a_loader_that_sleeps_is_the_bound() -> None:
    listener = Listener()
    run = Run(context(), listener)
    for _ in run.epochs():
        for _ in run.batches(_slow_loader(20, 0.005), samples=lambda _: 5):
            with run.phase(Phase.FORWARD):
                time.sleep(0.001)
        run.report()
    assert listener.reports[-1].tags["bound"] == "loader"


def test_evaluation_is_not_training_time() -> None:
    listener = Listener()
    run = Run(context(), listener)
    for _ in run.epochs():
        for _ in run.batches(range(10), samples=lambda _: 1):
            time.sleep(0.001)
        with run.evaluating():
            time.sleep(0.2)
        run.report()
    figures = listener.reports[-1].metrics
    assert figures["eval_s"] == pytest.approx(0.4, rel=0.1)
    assert figures["train_s"] < 0.1
    assert figures["epoch_s"] < 0.05


def test_the_start_of_an_epoch_is_its_own_figure() -> None:
    class SlowStart:
        def __iter__(self) -> Iterator[int]:
            time.sleep(0.1)
            yield from range(20)

    listener = Listener()
    run = Run(context(), listener)
    for _ in run.epochs():
        for _ in run.batches(SlowStart(), samples=lambda _: 1):
            time.sleep(0.001)
        run.report()
    figures = listener.reports[-1].metrics
    assert figures["epoch_start_s"] == pytest.approx(0.1, rel=0.2)
    assert figures["samples_per_s"] > 400, "the start is not in the steady state"
    assert figures["epoch_s"] > 0.1
    assert listener.reports[0].metrics["first_epoch_s"] == figures["first_epoch_s"] > 0.1


class EagerLoader:
    """As a DataLoader with workers: they start when it is asked for an iterator, and are waited
    for when there is no more."""

    def __init__(self, count: int) -> None:
        self._count = count

    def __iter__(self) -> Iterator[int]:
        time.sleep(0.08)
        return self._batches()

    def _batches(self) -> Iterator[int]:
        yield from range(self._count)
        time.sleep(0.05)


def trained_on(loader: Iterable[object], *, burst: int) -> Mapping[str, float]:
    """Figures of two epochs with steps of 1 ms and one sample."""
    listener = Listener()
    run = Run(context(burst=burst), listener)
    for _ in run.epochs():
        for _ in run.batches(loader, samples=lambda _: 1):
            time.sleep(0.001)
        run.report()
    return listener.reports[-1].metrics


def test_a_rate_of_whole_epochs_holds_what_a_loader_takes_to_start_and_to_end() -> None:
    figures = trained_on(EagerLoader(10), burst=8)
    assert figures["epoch_start_s"] == pytest.approx(0.08, rel=0.2)
    assert figures["epoch_s"] == pytest.approx(0.14, rel=0.2)
    assert figures["samples_per_s"] == pytest.approx(10 / figures["epoch_s"], rel=0.05)
    assert figures["train_s"] == pytest.approx(2 * figures["epoch_s"], rel=0.05)
    assert figures["step_ms"] == pytest.approx(1000 * figures["epoch_s"] / 10, rel=0.05)


def test_a_rate_of_a_steady_state_holds_neither() -> None:
    figures = trained_on(EagerLoader(100), burst=8)
    assert figures["samples_per_s"] > 600
    assert figures["epoch_s"] == pytest.approx(0.24, rel=0.2)


def test_a_rate_of_whole_epochs_holds_the_workers_of_a_real_loader() -> None:
    loader = DataLoader(list(range(10)), batch_size=None, num_workers=2)
    figures = trained_on(loader, burst=4)
    assert figures["samples_per_s"] == pytest.approx(10 / figures["epoch_s"], rel=0.3)
    assert figures["samples_per_s"] < 2 * 10 / figures["train_s"] * 1.1


def test_the_first_epoch_of_a_process_that_goes_on_is_not_the_first() -> None:
    listener = Listener()
    run = Run(context(budget=Budget(epochs=5)), listener)
    run.go_on_from(3)
    for _ in run.epochs():
        for _ in run.batches(range(10), samples=lambda _: 1):
            time.sleep(0.001)
        run.report()
    figures = listener.reports[-1].metrics
    assert figures["epochs"] == 5
    assert figures["epoch_s"] > 0.01
    assert "first_epoch_s" not in figures


def test_a_step_budget_ends_the_run_within_an_epoch() -> None:
    listener = Listener()
    run = Run(context(budget=Budget(epochs=100, steps=25)), listener)
    for _ in run.epochs():
        for _ in run.batches(range(10), samples=lambda _: 1):
            pass
        run.report()
    assert listener.reports[-1].step == 25
    assert len(listener.reports) == 3


@pytest.mark.parametrize("named", [True, False], ids=["its step named a phase", "it did not"])
def test_an_epoch_that_a_loop_breaks_out_of_is_measured_as_far_as_it_got(named: bool) -> None:
    listener = Listener()
    run = Run(context(budget=Budget(epochs=3)), listener)
    for _ in run.epochs():
        for index in run.batches(_slow_loader(100, 0.001), samples=lambda _: 5):
            with run.phase(Phase.FORWARD) if named else contextlib.nullcontext():
                time.sleep(0.001)
            if index == 39:
                break
        run.report()
    metrics = listener.reports[-1].metrics
    assert metrics["steps"] == 3 * (40 if named else 39)
    assert metrics["samples_per_s"] == pytest.approx(5 / 0.00215, rel=0.3)
    assert metrics["train_s"] > 3 * 39 * 0.002
    assert "epoch_s" not in metrics, "no epoch was whole"


def test_an_epoch_that_the_budget_cut_short_has_no_say_in_how_long_one_takes() -> None:
    listener = Listener()
    run = Run(context(budget=Budget(epochs=3, steps=120)), listener)
    for _ in run.epochs():
        for _ in run.batches(_slow_loader(100, 0.001), samples=lambda _: 5):
            pass
        run.report()
    assert listener.reports[-1].metrics["steps"] == 120
    assert listener.reports[-1].metrics["epoch_s"] > 100 * 0.001


def test_a_stopped_trial_leaves_through_every_except_exception() -> None:
    run = Run(context(budget=Budget(epochs=10)), Listener(stop_at=1))

    def careless() -> None:
        for _ in run.epochs():
            for _ in run.batches(range(3), samples=lambda _: 1):
                pass
            with contextlib.suppress(Exception):
                run.report()

    with pytest.raises(TrialStopped):
        careless()


def test_goes_on_from_a_checkpoint(tmp_path: Path) -> None:
    first = Run(context(budget=Budget(epochs=5), checkpoint_dir=tmp_path), Listener())
    assert first.restore() is None
    for epoch in first.epochs():
        for _ in first.batches(range(4), samples=lambda _: 2):
            pass
        first.checkpoint({"weights": torch.full((3,), float(epoch)), "note": "plain"})
        if epoch == 2:
            break
    listener = Listener()
    second = Run(context(budget=Budget(epochs=5), checkpoint_dir=tmp_path), listener)
    state = second.restore()
    assert state is not None
    assert state["weights"].tolist() == [2.0, 2.0, 2.0]
    assert list(second.epochs()) == [3, 4]
    second.report()
    assert listener.reports[-1].step == 12


def test_a_checkpoint_never_runs_code(tmp_path: Path) -> None:
    marker = tmp_path / "ran"

    class Evil:
        def __reduce__(self) -> tuple[object, ...]:
            return (Path.touch, (marker,))

    torch.save({"state": Evil()}, tmp_path / "checkpoint.pt")
    with pytest.raises(UnpicklingError):
        Run(context(checkpoint_dir=tmp_path), Listener()).restore()
    assert not marker.exists()


def test_only_rank_0_reports() -> None:
    listener = Listener()
    Run(context(rank=1, world_size=2), listener).report(val_acc=1.0)
    assert listener.reports == []


@pytest.mark.parametrize("half_width", [None, 0.3])
def test_ends_once_the_rate_is_known_well_enough(half_width: float | None) -> None:
    listener = Listener()
    run = Run(context(budget=Budget(epochs=3, half_width=half_width)), listener)
    lasts = []
    for _ in run.epochs():
        for _ in run.batches(range(1500), samples=lambda _: 1):
            time.sleep(0.0005)
        lasts.append(run.last_epoch)
        run.report()
    figures = listener.reports[-1].metrics
    if half_width is None:
        assert figures["steps"] == 4500
        assert lasts == [False, False, True]
    else:
        assert 512 <= figures["steps"] < 1500, "within the first epoch"
        assert lasts == [True]
        assert figures["samples_per_s_within_high"] / figures["samples_per_s"] < 1 + half_width


def test_says_that_an_interval_is_wide_or_that_there_is_none() -> None:
    listener = Listener()
    run = Run(context(budget=Budget(epochs=2, half_width=0.03)), listener)
    for epoch in run.epochs():
        for step in run.batches(range(41 if epoch else 3), samples=lambda _: 1):
            time.sleep(0.003 if step // 7 % 2 else 0.0005)
        run.report()
    assert "interval" not in listener.reports[0].tags
    assert listener.reports[1].tags["interval"] == "wide"


def test_ranks_train_the_whole_budget() -> None:
    listener = Listener()
    budget = Budget(epochs=1, half_width=0.5)
    run = Run(context(budget=budget, world_size=2), listener)
    for _ in run.epochs():
        for _ in run.batches(range(2000), samples=lambda _: 1):
            pass
        run.report()
    assert listener.reports[-1].metrics["steps"] == 2000
