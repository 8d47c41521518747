"""Ceilings of a trial with a loader and a model that take a known time."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pytest
import torch
from torch.autograd import DeviceType  # type: ignore[attr-defined]

from orchestrator.measurement import ceilings, recorder
from orchestrator.measurement.bound import beyond_us, kernels_of
from orchestrator.measurement.ceilings import Ceilings, measure_ceilings
from orchestrator.measurement.run import Run
from orchestrator.trial import Budget
from tests.orchestrator.measurement.fakes import FakeClock, Listener, SlowLoader, context

BATCH = 64


@dataclass
class Training:
    """Training function, and what it does: times in seconds."""

    steps: int = 60  # steps of an epoch
    batch_s: float = 0.0001  # time of the loader for a batch
    step_s: float = 0.001  # time of a step
    set_up_s: float = 0.0  # time before the first epoch
    num_cold: int = 0  # steps of a new model that take ``cold_s`` more
    cold_s: float = 0.004  # that time

    def __post_init__(self) -> None:
        self.clock = FakeClock()
        self.num_calls = 0
        self.num_steps = 0
        self.num_after_loop = 0

    def __call__(self, run: Run) -> None:
        self.num_calls += 1
        num_cold = self.num_cold
        self.clock.sleep(self.set_up_s)
        for _ in run.epochs():
            loader = SlowLoader(self.clock, self.steps, batch_s=self.batch_s)
            for _ in run.batches(loader, samples=lambda _: BATCH):
                torch.ones(2)
                self.clock.sleep(self.step_s + (self.cold_s if num_cold > 0 else 0.0))
                num_cold -= 1
                self.num_steps += 1
            run.report()
        self.num_after_loop += 1


def measured(training: Training, **of: Any) -> tuple[Ceilings | None, Listener, Run]:  # noqa: ANN401
    """Train, measure the ceilings; return them, the trial's reports and its run."""
    listener = Listener()
    budget = Budget(epochs=of.pop("epochs", 4))
    run = Run(context(budget=budget, **of), listener, clock=training.clock)
    training(run)
    return measure_ceilings(training, run, clock=training.clock), listener, run


def test_the_loader_and_the_model_have_a_rate_each() -> None:
    found, listener, _ = measured(Training(batch_s=0.004, step_s=0.002))
    metrics, trial = found.metrics, listener.metrics
    assert metrics["loader_only_samples_per_s"] == pytest.approx(BATCH / 0.004)
    assert metrics["compute_only_samples_per_s"] == pytest.approx(BATCH / 0.002)
    assert trial["samples_per_s"] == pytest.approx(BATCH / 0.006)
    assert metrics["headroom"] == pytest.approx(3)


def test_the_larger_time_is_the_bound() -> None:
    loader, host = Training(batch_s=0.004, step_s=0.002), Training(batch_s=0.001, step_s=0.1)
    assert measured(loader)[0].tags["bound"] == "loader"
    assert measured(host)[0].tags["bound"] == "host", "a step that next to nothing computes in"


def test_a_model_is_warm_before_its_ceiling_is_taken() -> None:
    training = Training(num_cold=150, cold_s=0.004)
    assert measured(training, epochs=100)[0].metrics["headroom"] == pytest.approx(1.1)


def test_the_second_call_is_left_in_its_loop_and_takes_a_small_part_of_the_time() -> None:
    training = Training(step_s=0.01, steps=300)
    listener = Listener()
    run = Run(context(budget=Budget(epochs=10)), listener, clock=training.clock)
    training(run)
    trained_s = training.clock()
    rows = run.take_rows()
    assert measure_ceilings(training, run, clock=training.clock) is not None
    assert training.num_calls == 2
    assert training.num_after_loop == 1, "what follows the loop ran once"
    assert training.clock() - trained_s <= 0.25 * trained_s
    assert len(listener.reports) == 10
    assert run.take_rows() == [] == rows, "nothing timed since the last report"
    assert run.recording().num_steps == 3000


@pytest.mark.parametrize(
    ("training", "of"),
    [
        pytest.param(Training(steps=2, step_s=0.15), {"epochs": 1}, id="too few steps"),
        pytest.param(Training(set_up_s=10.0), {}, id="a set-up longer than the training"),
        pytest.param(Training(), {"world_size": 2}, id="several ranks"),
    ],
)
def test_a_trial_of_several_ranks_or_too_short_for_them_has_none(
    training: Training, of: dict[str, int]
) -> None:
    assert measured(training, **of)[0] is None
    assert training.num_calls == 1


# -- a device with a queue


class Queue:
    """Clock of a device that works through what the host asks for, a millisecond at a time."""

    is_remote = True

    def __init__(self, host: FakeClock) -> None:
        self._host = host
        self._free_s = 0.0

    def ask_for(self, seconds: float) -> None:
        self._host.sleep(1e-5)
        self._free_s = self.mark() + seconds

    def mark(self) -> float:
        return max(self._host(), self._free_s)

    def wait_for(self, mark: float) -> None:
        self._host.sleep(max(mark - self._host(), 0.0))

    def resolve(self, marks: Sequence[float]) -> list[float]:
        self.wait_for(self._free_s)
        return list(marks)


def test_a_device_s_own_time_counts_and_its_queue_stays_short(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    host = FakeClock()
    queue = Queue(host)
    for module in (recorder, ceilings):
        monkeypatch.setattr(module, "clock_for", lambda *_: queue)

    def batches() -> Iterator[int]:
        for batch in range(100):
            queue.ask_for(0.004)
            yield batch

    def train(run: Run) -> None:
        for _ in run.epochs():
            for _ in run.batches(batches(), samples=lambda _: BATCH):
                queue.ask_for(0.001)
            run.report()

    run = Run(context(budget=Budget(epochs=10)), Listener(), clock=host)
    train(run)
    before_s = queue.mark()
    found = measure_ceilings(train, run, clock=host)
    assert found.metrics["loader_only_samples_per_s"] == pytest.approx(BATCH / 0.004)
    assert found.metrics["compute_only_samples_per_s"] == pytest.approx(BATCH / 0.001, rel=0.02)
    assert queue.mark() - before_s <= 0.25 * before_s


# -- the compute share


@dataclass
class Span:
    start: float
    end: float


@dataclass
class Event:
    """Event of the profiler about work of a GPU, of which there is none here."""

    name: str
    device_type: DeviceType
    time_range: Span


def test_copies_and_the_host_s_own_operations_are_no_kernels() -> None:
    gpu, cpu = DeviceType.CUDA, DeviceType.CPU
    events = [
        Event("ampere_sgemm_128x64_tn", gpu, Span(0, 10)),
        Event("Memcpy HtoD (Pinned -> Device)", gpu, Span(10, 50)),
        Event("Memset (Device)", gpu, Span(50, 51)),
        Event("Optimizer.step#SGD.step", gpu, Span(0, 99)),
        Event("aten::addmm", cpu, Span(0, 99)),
    ]
    assert list(kernels_of(events)) == [(0, 10)]


def test_a_stall_in_an_operation_is_no_computing() -> None:
    small_and_large = [2.0, 9.0, 2.0, 9.0, 900.0, 9.0, 2.0, 9.0]
    assert beyond_us(small_and_large, 2.0, num_steps=4) == pytest.approx(4 * 7.0)
