"""Recorder: its times add up to the run, and what did not happen has no figure."""

from __future__ import annotations

import time
from collections.abc import Sequence

import pytest

from orchestrator.measurement.blocks import Phase
from orchestrator.measurement.clocks import HostClock, Mark
from orchestrator.measurement.figures import Recording, figures
from orchestrator.measurement.progress import Progress
from orchestrator.measurement.recorder import Recorder
from orchestrator.measurement.usage import NO_USAGE
from orchestrator.trial import Budget
from tests.orchestrator.measurement.fakes import FakeClock, context


class Recorded:
    """A run whose parts take as long as a test says, on a clock of its own."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.recorder = Recorder(context(), self.clock)
        self._progress = Progress(Budget(epochs=100))
        self._num_epochs = 0

    def epoch(
        self, num_steps: int, *, step_s: float = 0.01, is_whole: bool = True, busy_s: float = 0.0
    ) -> None:
        """Train an epoch; ``busy_s`` of CPU time are spent in it."""
        self.recorder.begin_epoch()
        self._progress.count_epoch()
        compute(busy_s)
        for _ in range(num_steps):
            self.recorder.timer.begin_step()
            self.clock.sleep(0.2 * step_s)
            self.recorder.timer.receive_batch()
            with self.recorder.timer.phase(Phase.FORWARD):
                self.clock.sleep(0.8 * step_s)
            self.recorder.timer.end_step(4)
            self._progress.count_step(4)
        self.recorder.end_epoch(self._num_epochs, is_whole=is_whole, is_last=False)
        self._num_epochs += 1

    def evaluate(self, seconds: float) -> None:
        with self.recorder.evaluating():
            self.clock.sleep(seconds)

    @property
    def recording(self) -> Recording:
        return self.recorder.recording(self._progress)


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
        run.clock.sleep(2.0)  # a checkpoint, say: in no figure
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
    assert sum(block.num_steps for block in found.blocks) == found.num_timed == 42
    assert found.num_steps == 42


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


def test_phases_are_those_of_the_steps() -> None:
    run = Recorded()
    run.epoch(100)
    shown = figures(run.recording)
    assert (shown["wait_ms"], shown["forward_ms"]) == pytest.approx((2, 8))
    assert shown["step_ms"] == pytest.approx(10)


def test_a_run_in_which_nothing_has_happened_has_no_figures() -> None:
    found = Recorded().recording
    assert (found.set_up_s, found.eval_s, found.peak_gpu_bytes, found.copied_s) == (None,) * 4
    assert (found.blocks, found.epochs, found.memory) == ([], [], [])
    assert (found.train_s, found.usage) == (0.0, NO_USAGE)


def test_an_evaluation_that_raises_has_taken_its_time() -> None:
    run = Recorded()

    def fail() -> None:
        with run.recorder.evaluating():
            run.clock.sleep(0.5)
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert run.recording.eval_s == 0.5


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


def test_an_epoch_that_was_cut_short_is_training_but_not_whole() -> None:
    run = Recorded()
    run.epoch(10)
    run.epoch(4, is_whole=False)
    found = run.recording
    assert [epoch.is_whole for epoch in found.epochs] == [True, False]
    assert found.train_s == pytest.approx(0.14)


def test_each_block_is_handed_out_once() -> None:
    run = Recorded()
    handed = []
    for num_steps in (10, 20):
        run.epoch(num_steps)
        handed.append(sum(row[2] for row in run.recorder.take_rows()))
    assert handed == [10, 20]
    assert run.recorder.take_rows() == []


def test_memory_is_that_of_this_process_at_the_ends_of_epochs() -> None:
    run = Recorded()
    for _ in range(2):
        run.epoch(5)
    readings = run.recording.memory
    assert [reading.epoch for reading in readings] == [0, 1]
    assert all(reading.pss_bytes > 2**20 for reading in readings)
