"""Run: what it tells of a training whose times are known."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterable

import pytest
from torch.utils.data import DataLoader, Dataset

from orchestrator.measurement.run import Context, Phase, Run, TrialStopped
from orchestrator.trial import Budget
from tests.orchestrator.measurement.fakes import FakeClock, Listener, SlowLoader, context


def trained(
    of: Context, loader: Iterable[int], clock: FakeClock, *, step_s: float = 0.001
) -> tuple[Run, Listener]:
    """Train a budget with steps of one sample, and report after each epoch."""
    listener = Listener()
    run = Run(of, listener, clock=clock)
    for _ in run.epochs():
        for _ in run.batches(loader, samples=lambda _: 1):
            clock.sleep(step_s)
        run.report()
    return run, listener


# -- times


def test_phases_add_up_to_the_step() -> None:
    clock, listener = FakeClock(), Listener()
    run = Run(context(), listener, clock=clock)
    for _ in run.epochs():
        for _ in run.batches(SlowLoader(clock, 30, batch_s=0.002), samples=lambda _: 5):
            with run.phase("forward"):  # type: ignore[arg-type] # its name is one
                clock.sleep(0.003)
            with run.phase(Phase.BACKWARD):
                clock.sleep(0.001)
            with run.phase(Phase.BACKWARD):
                clock.sleep(0.001)
            with run.phase(Phase.OPTIMIZER):
                clock.sleep(0.001)
        run.report(val_acc=0.5)
    figures = listener.metrics
    parts = ("wait_ms", "forward_ms", "backward_ms", "optimizer_ms")
    assert [figures[part] for part in parts] == pytest.approx([2, 3, 2, 1])
    assert figures["step_ms"] == pytest.approx(8)
    assert "transfer_ms" not in figures, "not measured is absent, not 0"
    assert listener.reports[-1].tags["bound"] == "compute"
    with pytest.raises(ValueError, match="'fwd' is no phase of a step; allowed: wait, transfer, "):
        run.phase("fwd")  # type: ignore[arg-type]


def test_a_loader_that_sleeps_is_the_bound() -> None:
    clock, listener = FakeClock(), Listener()
    run = Run(context(), listener, clock=clock)
    for _ in run.epochs():
        for _ in run.batches(SlowLoader(clock, 20, batch_s=0.005), samples=lambda _: 5):
            with run.phase(Phase.FORWARD):
                clock.sleep(0.001)
        run.report()
    assert listener.reports[-1].tags["bound"] == "loader"


def test_evaluation_is_not_training_time() -> None:
    clock, listener = FakeClock(), Listener()
    run = Run(context(), listener, clock=clock)
    for _ in run.epochs():
        for _ in run.batches(range(10), samples=lambda _: 1):
            clock.sleep(0.001)
        with run.evaluating():
            clock.sleep(0.2)
        run.report()
    figures = listener.metrics
    assert figures["eval_s"] == pytest.approx(0.4)
    assert figures["train_s"] == pytest.approx(0.02)
    assert figures["epoch_s"] == pytest.approx(0.01)


def test_the_start_of_an_epoch_is_its_own_figure() -> None:
    clock = FakeClock()
    _, listener = trained(context(), SlowLoader(clock, 20, start_s=0.1), clock)
    figures = listener.metrics
    assert figures["epoch_start_s"] == pytest.approx(0.1)
    assert figures["samples_per_s"] == pytest.approx(1000), "the start is not in the steady state"
    assert figures["epoch_s"] == pytest.approx(0.12)
    assert listener.reports[0].metrics["first_epoch_s"] == pytest.approx(0.12)


def test_a_rate_of_whole_epochs_holds_the_start_and_the_end_of_a_loader() -> None:
    clock = FakeClock()
    loader = SlowLoader(clock, 10, start_s=0.08, end_s=0.05)
    figures = trained(context(burst=8), loader, clock)[1].metrics
    assert figures["epoch_start_s"] == pytest.approx(0.08)
    assert figures["epoch_s"] == pytest.approx(0.14)
    assert figures["samples_per_s"] == pytest.approx(10 / 0.14)
    assert figures["train_s"] == pytest.approx(2 * 0.14)
    assert figures["step_ms"] == pytest.approx(14)


def test_a_rate_of_a_steady_state_holds_neither() -> None:
    clock = FakeClock()
    loader = SlowLoader(clock, 100, start_s=0.08, end_s=0.05)
    figures = trained(context(burst=8), loader, clock)[1].metrics
    assert figures["samples_per_s"] == pytest.approx(1000)
    assert figures["epoch_s"] == pytest.approx(0.23)


class WorkersOf(SlowLoader):
    """Loader that says, as PyTorch's does, how far its workers work ahead."""

    num_workers = 4
    prefetch_factor = 2


@pytest.mark.parametrize("declared", [1, 8])
def test_a_loader_s_own_workers_set_the_ends_that_are_no_steady_state(declared: int) -> None:
    """Nobody has to declare what the loader knows."""
    clock = FakeClock()
    run, _ = trained(context(burst=declared), WorkersOf(clock, 100), clock)
    first, *middle, last = [block for block in run.recording().blocks if block.epoch == 0]
    assert (first.num_steps, last.num_steps) == (8, 8)
    assert min(block.num_steps for block in middle) >= 16
    assert run.recording().context.burst == 8
    _, of_short = trained(context(burst=declared), WorkersOf(clock, 20), clock)
    assert of_short.reports[-1].tags["rate"] == "epochs"


@pytest.mark.parametrize("declared", [0, 6])
def test_a_loader_s_own_workers_are_processes_beside_the_cores(declared: int) -> None:
    clock = FakeClock()
    run, listener = trained(context(num_cores=4, num_workers=declared), WorkersOf(clock, 9), clock)
    assert listener.reports[-1].tags["oversubscribed"] == "true"
    assert run.recording().context.num_workers == max(declared, 4)


class Ten(Dataset[int]):
    def __len__(self) -> int:
        return 10

    def __getitem__(self, index: int) -> int:
        return index


@pytest.mark.slow
@pytest.mark.alone
@pytest.mark.parametrize(
    ("num_batches", "steps", "rate"),
    [(1000, 96, "steady"), (1000, 95, "epochs"), (96, 1000, "epochs"), (96, 192, "epochs")],
)
def test_three_rounds_are_enough_where_the_budget_ends_the_epoch(
    num_batches: int, steps: int, rate: str
) -> None:
    clock = FakeClock()
    loader = SlowLoader(clock, num_batches, start_s=5.0)
    of = context(burst=32, budget=Budget(epochs=100, steps=steps))
    _, listener = trained(of, loader, clock)
    assert listener.reports[-1].tags["rate"] == rate
    if rate == "steady":
        assert listener.metrics["samples_per_s"] == pytest.approx(1000)


def test_the_start_of_an_epoch_that_the_budget_ends_early_is_no_steady_state() -> None:
    clock = FakeClock()
    of = context(burst=4, budget=Budget(epochs=2, steps=106))
    run, listener = trained(of, SlowLoader(clock, 100, start_s=5.0), clock)
    assert run.recording().blocks[-1].num_steps == 6
    assert listener.metrics["samples_per_s"] == pytest.approx(1000)
    assert listener.reports[-1].tags["rate"] == "steady"


def test_an_epoch_cut_short_adds_to_the_rate_of_whole_ones_that_are_too_short() -> None:
    clock = FakeClock()
    of = context(burst=32, budget=Budget(epochs=100, steps=99 + 97))
    run, listener = trained(of, SlowLoader(clock, 99, start_s=5.0), clock)
    assert [block.num_steps for block in run.recording().blocks] == [99, 97]
    assert listener.reports[-1].tags["rate"] == "epochs"


def test_a_rate_of_whole_epochs_holds_the_workers_of_a_real_loader() -> None:
    listener = Listener()
    run = Run(context(burst=4), listener)
    loader: DataLoader[int] = DataLoader(Ten(), batch_size=None, num_workers=2)
    for _ in run.epochs():
        for _ in run.batches(loader, samples=lambda _: 1):
            pass
        run.report()
    figures = listener.metrics
    assert figures["samples_per_s"] == pytest.approx(10 / figures["epoch_s"], rel=0.3)
    assert figures["samples_per_s"] < 2 * 10 / figures["train_s"] * 1.1


# -- budgets


def test_the_first_epoch_of_a_process_that_goes_on_is_not_the_first() -> None:
    clock, listener = FakeClock(), Listener()
    run = Run(context(budget=Budget(epochs=5)), listener, clock=clock)
    run.go_on_from(3)
    for _ in run.epochs():
        for _ in run.batches(range(10), samples=lambda _: 1):
            clock.sleep(0.001)
        run.report()
    assert listener.metrics["epochs"] == 5
    assert listener.metrics["epoch_s"] == pytest.approx(0.01)
    assert "first_epoch_s" not in listener.metrics


def test_a_step_budget_ends_the_run_within_an_epoch() -> None:
    clock = FakeClock()
    _, listener = trained(context(budget=Budget(epochs=100, steps=25)), range(10), clock)
    assert listener.reports[-1].step == 25
    assert len(listener.reports) == 3


def test_the_rest_of_an_epoch_that_was_broken_out_of_is_no_whole_one() -> None:
    clock, listener = FakeClock(), Listener()
    run = Run(context(), listener, clock=clock)
    for epoch in run.epochs():
        left = iter(SlowLoader(clock, 5, batch_s=0.001))
        passes = [run.batches(left, samples=lambda _: 1)]
        if epoch:
            for _ in passes[0]:
                with run.phase(Phase.FORWARD):
                    clock.sleep(0.001)
                break
            passes[0].close()  # type: ignore[attr-defined]
            clock.sleep(10)  # an evaluation
            passes = [run.rest_of_epoch(left, samples=lambda _: 1)]
        for _ in passes[0]:
            clock.sleep(0.001)
        run.report()
    figures = listener.metrics
    assert figures["steps"] == 10
    assert figures["train_s"] == pytest.approx(0.02)
    assert figures["epoch_s"] == pytest.approx(0.01), "of the first one alone"


@pytest.mark.parametrize("named", [True, False], ids=["its step named a phase", "it did not"])
def test_an_epoch_that_a_loop_breaks_out_of_is_measured_as_far_as_it_got(named: bool) -> None:
    clock, listener = FakeClock(), Listener()
    run = Run(context(budget=Budget(epochs=3)), listener, clock=clock)
    for _ in run.epochs():
        for index in run.batches(SlowLoader(clock, 100, batch_s=0.001), samples=lambda _: 5):
            with run.phase(Phase.FORWARD) if named else contextlib.nullcontext():
                clock.sleep(0.001)
            if index == 39:
                break
        run.report()
    metrics = listener.metrics
    assert metrics["steps"] == 3 * (40 if named else 39)
    assert metrics["samples_per_s"] == pytest.approx(5 / 0.002)
    assert metrics["train_s"] == pytest.approx(3 * 40 * 0.002)
    assert "epoch_s" not in metrics, "no epoch was whole"


@pytest.mark.parametrize("inner", ["batches", "rest_of_epoch"])
def test_a_loop_within_a_loop_is_refused_and_the_next_epoch_goes_on(inner: str) -> None:
    clock, listener = FakeClock(), Listener()
    run = Run(context(budget=Budget(epochs=2)), listener, clock=clock)
    loader = [0] * 30
    for _ in run.epochs():
        with contextlib.suppress(RuntimeError):
            for _ in run.batches(loader, samples=lambda _: 1):
                with pytest.raises(RuntimeError, match=r"Validate within run\.evaluating"):
                    next(getattr(run, inner)(loader, samples=lambda _: 1))
                raise RuntimeError
        for _ in run.rest_of_epoch(loader, samples=lambda _: 1):
            clock.sleep(0.001)
    run.report()
    assert listener.metrics["steps"] == 60


def test_an_epoch_that_the_budget_cut_short_does_not_count_for_the_length_of_one() -> None:
    clock = FakeClock()
    _, listener = trained(context(budget=Budget(epochs=3, steps=120)), range(100), clock)
    assert listener.metrics["steps"] == 120
    assert listener.metrics["epoch_s"] == pytest.approx(0.1)


@pytest.mark.parametrize("half_width", [None, 0.3])
def test_ends_once_the_rate_is_known_well_enough(half_width: float | None) -> None:
    clock, listener, lasts = FakeClock(), Listener(), []
    budget = Budget(epochs=3, half_width=half_width)
    run = Run(context(budget=budget), listener, clock=clock)
    for _ in run.epochs():
        for step in run.batches(range(1500), samples=lambda _: 1):
            clock.sleep(0.0005 + 0.0001 * (step % 3))
        lasts.append(run.last_epoch)
        run.report()
    figures = listener.metrics
    if half_width is None:
        assert figures["steps"] == 4500
        assert lasts == [False, False, True]
    else:
        assert 512 <= figures["steps"] < 1500, "within the first epoch"
        assert lasts == [True]
        assert figures["samples_per_s_within_high"] / figures["samples_per_s"] < 1 + half_width


def test_ranks_train_the_whole_budget() -> None:
    clock = FakeClock()
    of = context(budget=Budget(epochs=1, half_width=0.5), world_size=2)
    _, listener = trained(of, range(2000), clock)
    assert listener.metrics["steps"] == 2000


def test_an_interval_is_called_wide_or_there_is_none() -> None:
    clock, listener = FakeClock(), Listener()
    run = Run(context(budget=Budget(epochs=2, half_width=0.03)), listener, clock=clock)
    for epoch in run.epochs():
        for step in run.batches(range(41 if epoch else 3), samples=lambda _: 1):
            clock.sleep(0.003 if step // 7 % 2 else 0.0005)
        run.report()
    assert "interval" not in listener.reports[0].tags
    assert listener.reports[1].tags["interval"] == "wide"


# -- reports and checkpoints


def test_a_stopped_trial_leaves_through_every_except_exception() -> None:
    clock = FakeClock()
    run = Run(context(budget=Budget(epochs=10)), Listener(stop_at=1), clock=clock)

    def careless() -> None:
        for _ in run.epochs():
            for _ in run.batches(range(3), samples=lambda _: 1):
                clock.sleep(0.001)
            with contextlib.suppress(Exception):
                run.report()

    with pytest.raises(TrialStopped):
        careless()


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_a_loss_that_is_not_finite_ends_the_trial(value: float) -> None:
    with pytest.raises(FloatingPointError, match="train_loss is"):
        Run(context(), Listener()).report(train_loss=value)


def test_only_rank_0_reports() -> None:
    listener = Listener()
    Run(context(rank=1, world_size=2), listener).report(val_acc=1.0)
    assert listener.reports == []


def test_a_report_has_the_blocks_since_the_one_before_it() -> None:
    clock = FakeClock()
    run, listener = trained(context(), range(10), clock)
    assert [sum(row[2] for row in report.blocks) for report in listener.reports] == [10, 10]
    assert run.take_rows() == []
