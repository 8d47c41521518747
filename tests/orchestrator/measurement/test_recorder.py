"""Recorder: its times add up to the run, and what did not happen has no figure."""

import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pytest
import torch

from orchestrator.measurement.blocks import Phase
from orchestrator.measurement.clocks import CudaClock, HostClock, Mark
from orchestrator.measurement.recorder import Recorder
from orchestrator.measurement.step_timer import StepTimer
from orchestrator.measurement.trial_figures import Recording
from tests.orchestrator.measurement.fakes import FakeClock, context


class Recorded:
    """A run on its own clock; a test sets how long the parts take."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.recorder = Recorder(context(), self.clock)
        self._num_epochs = self._num_steps = 0

    def epoch(
        self, num_steps: int, *, step_s: float = 0.01, is_whole: bool = True, busy_s: float = 0.0
    ) -> None:
        """Train an epoch; ``busy_s`` of CPU time are spent in it."""
        self.recorder.begin_epoch()
        compute(busy_s)
        for _ in range(num_steps):
            self.recorder.timer.begin_step()
            self.clock.sleep(0.2 * step_s)
            self.recorder.timer.receive_batch()
            with self.recorder.timer.phase(Phase.FORWARD):
                self.clock.sleep(0.8 * step_s)
            self.recorder.timer.end_step(4)
        self.recorder.end_epoch(self._num_epochs, is_whole=is_whole, is_last=False)
        self._num_epochs += 1
        self._num_steps += num_steps

    def evaluate(self, seconds: float) -> None:
        with self.recorder.evaluating():
            self.clock.sleep(seconds)

    @property
    def recording(self) -> Recording:
        return self.recorder.recording(self._num_epochs, self._num_steps)


def compute(seconds: float) -> None:
    """Spend CPU time."""
    until = time.process_time() + seconds
    while time.process_time() < until:
        pass


def test_set_up_training_evaluation_and_the_rest_add_up_to_the_run() -> None:
    run = Recorded()
    run.clock.sleep(0.5)
    run.recorder.end_set_up()
    for _ in range(3):
        run.epoch(10)
        run.evaluate(0.25)
        run.clock.sleep(2.0)  # such as a checkpoint: in no figure
    found = run.recording
    assert found.set_up_s == pytest.approx(0.5)
    assert found.train_s == pytest.approx(3 * 10 * 0.01)
    assert found.eval_s == pytest.approx(3 * 0.25)
    assert run.recorder.elapsed_s == pytest.approx(0.5 + 0.3 + 0.75 + 3 * 2.0)


def test_epochs_steps_and_blocks_are_of_the_same_time() -> None:
    run = Recorded()
    for num_steps in (30, 12):
        run.epoch(num_steps)
    found = run.recording
    assert sum(epoch.duration_s for epoch in found.epochs) == pytest.approx(found.train_s)
    assert sum(block.duration_s for block in found.blocks) == pytest.approx(found.train_s)
    assert sum(block.num_steps for block in found.blocks) == found.num_steps == 42


def test_reading_the_marks_of_an_epoch_is_no_training(monkeypatch: pytest.MonkeyPatch) -> None:
    run = Recorded()
    resolve = HostClock.resolve

    def slowly(clock: HostClock, marks: Sequence[Mark]) -> list[float]:
        run.clock.sleep(1.0)
        return resolve(clock, marks)

    monkeypatch.setattr(HostClock, "resolve", slowly)
    for is_whole in (True, False):
        run.epoch(10, is_whole=is_whole)
    found = run.recording
    assert found.train_s == pytest.approx(0.2)
    assert [epoch.duration_s for epoch in found.epochs] == pytest.approx([0.1, 0.1])


def test_cpu_time_counts_within_epochs_alone() -> None:
    run = Recorded()
    run.epoch(1, busy_s=0.05)
    usage = run.recording.usage
    within_s = usage.user_s + usage.system_s
    assert within_s >= 0.04
    compute(0.2)
    run.evaluate(1.0)
    run.epoch(1)
    usage = run.recording.usage
    assert usage.user_s + usage.system_s < within_s + 0.15


def stepped(timer: StepTimer, clock: FakeClock, num_steps: int) -> None:
    """Take steps of 3 ms, one of them before the batch is there."""
    for _ in range(num_steps):
        timer.begin_step()
        clock.sleep(0.001)
        timer.receive_batch()
        clock.sleep(0.002)
        timer.end_step(5)


def test_steps_become_blocks_during_the_epoch() -> None:
    clock = FakeClock()
    timer = StepTimer(HostClock(clock))
    timer.begin_epoch(2)
    stepped(timer, clock, 15)
    assert timer.blocks == []
    timer.close_blocks(0)
    assert timer.num_steps == sum(block.num_steps for block in timer.blocks) == 2 + 8
    stepped(timer, clock, 5)
    timer.end_epoch(0)
    assert sum(block.num_steps for block in timer.blocks) == 20


@dataclass
class Event:
    """At so many milliseconds of the device's time, in single precision, as CUDA reports it."""

    at_ms: float

    def elapsed_time(self, later: "Event") -> float:
        return float(np.float32(later.at_ms - self.at_ms))


def test_marks_hours_from_the_start_are_as_exact_as_those_near_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now_ms = 0.0
    monkeypatch.setattr(torch.cuda, "synchronize", lambda _: None)
    monkeypatch.setattr(CudaClock, "mark", lambda _: Event(now_ms))
    clock = CudaClock(torch.device("cuda"))
    step_ms = 0.3
    for epoch in range(200):  # three hours of epochs of a minute, of which ten steps are looked at
        marks = []
        for step in range(10):
            now_ms = 60_000.0 * epoch + step_ms * step
            marks.append(clock.mark())
        seconds = clock.resolve(marks)
        assert np.diff(seconds) == pytest.approx([step_ms / 1000] * 9, abs=5e-6)
    assert seconds[0] == pytest.approx(60 * 199, abs=1e-3)


def test_a_devices_clock_stands_still_while_other_trials_have_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now_ms, synced = 0.0, []
    monkeypatch.setattr(torch.cuda, "synchronize", lambda _: synced.append(now_ms))
    monkeypatch.setattr(CudaClock, "mark", lambda _: Event(now_ms))
    clock = CudaClock(torch.device("cuda"))
    marks = [clock.mark()]
    for _ in range(100):
        now_ms += 300.0  # its own, across anchors of 10 s
        with clock.pausing():
            assert synced[-1] == now_ms  # its work is done before another one's begins
            now_ms += 500.0
        marks.append(clock.mark())
    assert clock.resolve(marks[:50]) == pytest.approx([0.3 * count for count in range(50)])
    assert clock.resolve(marks[50:]) == pytest.approx([0.3 * count for count in range(50, 101)])
    assert clock.resolve(marks[:2]) == pytest.approx([0.0, 0.3])
