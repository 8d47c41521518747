"""Run: its figures of a training with known times."""

import contextlib
import math
from collections.abc import Iterable
from pathlib import Path

import pytest

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


@pytest.mark.parametrize(
    ("name", "values", "message"),
    [
        ("train_loss", [math.inf, 2.0], ""),
        ("val_acc", [math.nan], ""),
        ("train_loss", [math.nan], "train_loss is nan after step 1"),
        ("val_acc", [-math.inf], "val_acc is -inf after step 1"),
        ("own", [math.inf, math.inf, 2.0], "own is inf after step 2"),
        ("train_loss", [2.0, math.nan, 1.0], "train_loss is nan after step 2"),
    ],
)
def test_a_first_figure_that_a_later_one_mends_is_no_divergence(
    name: str, values: list[float], message: str
) -> None:
    listener = Listener()
    clock = FakeClock()
    run = Run(context(budget=Budget(epochs=len(values))), listener, clock=clock)
    refused = pytest.raises(FloatingPointError, match=f"^{message}$")
    with refused if message else contextlib.nullcontext():
        for epoch in run.epochs():
            for _ in run.batches([0], samples=lambda _: 1):
                clock.sleep(0.1)
            run.report(**{name: values[epoch]})
        run.require_finite()
    assert not any(math.isinf(report.metrics[name]) for report in listener.reports)


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


@pytest.mark.parametrize(
    ("num_batches", "rate"), [(10, 10 / 0.14), pytest.param(100, 1000.0, id="steady")]
)
def test_only_a_rate_of_whole_epochs_includes_a_loader_s_start_and_end(
    num_batches: int, rate: float
) -> None:
    clock = FakeClock()
    loader = SlowLoader(clock, num_batches, start_s=0.08, end_s=0.05)
    _, listener = trained(context(burst=8), loader, clock)
    figures = listener.metrics
    assert figures["epoch_start_s"] == pytest.approx(0.08)
    assert figures["epoch_s"] == pytest.approx(0.13 + num_batches / 1000)
    assert figures["train_s"] == pytest.approx(2 * figures["epoch_s"])
    assert figures["samples_per_s"] == pytest.approx(rate)
    assert figures["step_ms"] == pytest.approx(1000 / rate)
    assert "first_epoch_s" in listener.reports[0].metrics


class WorkersOf(SlowLoader):
    """Loader with attributes, as PyTorch's, for how far its workers work ahead."""

    num_workers = 4
    prefetch_factor = 2


@pytest.mark.parametrize(("burst", "num_workers"), [(1, 0), (8, 6)])
def test_a_loader_s_workers_set_the_ends_that_are_no_steady_state_and_are_processes(
    burst: int, num_workers: int
) -> None:
    clock = FakeClock()
    declared = context(burst=burst, num_cores=4, num_workers=num_workers)
    run, listener = trained(declared, WorkersOf(clock, 100), clock)
    first, *middle, last = [block for block in run.recording().blocks if block.epoch == 0]
    assert (first.num_steps, last.num_steps) == (8, 8)
    assert min(block.num_steps for block in middle) >= 16
    known = run.recording().context
    assert (known.burst, known.num_workers) == (8, max(num_workers, 4))
    assert listener.reports[-1].tags["oversubscribed"] == "true"
    _, of_short = trained(declared, WorkersOf(clock, 20), clock)
    assert of_short.reports[-1].tags["rate"] == "epochs"


# -- budgets


def test_the_first_epoch_of_a_process_that_continues_is_not_the_first() -> None:
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
def test_a_loop_within_a_loop_is_refused_and_the_next_epoch_continues(inner: str) -> None:
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


@pytest.mark.parametrize(("half_width", "num_ranks"), [(None, 1), (0.3, 2), (0.3, 1)])
def test_ends_once_the_rate_is_known_well_enough(half_width: float | None, num_ranks: int) -> None:
    clock, listener, lasts = FakeClock(), Listener(), []
    budget = Budget(epochs=3, half_width=half_width)
    run = Run(context(budget=budget, world_size=num_ranks), listener, clock=clock)
    for _ in run.epochs():
        for step in run.batches(range(1500), samples=lambda _: 1):
            clock.sleep(0.0005 + 0.0001 * (step % 3))
        lasts.append(run.last_epoch)
        run.report()
    figures = listener.metrics
    if half_width is None or num_ranks > 1:
        assert figures["steps"] == 4500
        assert lasts == [False, False, True]
    else:
        assert 512 <= figures["steps"] < 1500, "within the first epoch"
        assert lasts == [True]
        assert figures["samples_per_s_within_high"] / figures["samples_per_s"] < 1 + half_width


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


def test_only_rank_0_reports() -> None:
    listener = Listener()
    Run(context(rank=1, world_size=2), listener).report(val_acc=1.0)
    assert listener.reports == []


def test_a_report_has_the_blocks_since_the_one_before_it() -> None:
    clock = FakeClock()
    run, listener = trained(context(), range(10), clock)
    assert [sum(row[2] for row in report.blocks) for report in listener.reports] == [10, 10]
    assert run.take_rows() == []


def test_a_run_without_data_raises() -> None:
    with pytest.raises(LookupError, match="declares no data sets"):
        _ = Run(context(), Listener()).data


def test_a_trials_own_folder_is_made_when_it_is_asked_for(tmp_path: Path) -> None:
    place = Run(context(folder=tmp_path / "trial" / "files"), Listener())
    assert list(tmp_path.iterdir()) == []
    assert place.folder.is_dir()
    assert place.folder == tmp_path / "trial" / "files"
