"""Timer of steps: what it makes of its marks, and when."""

from __future__ import annotations

import pytest

from orchestrator.measurement.blocks import Dropped, Phase
from orchestrator.measurement.clocks import HostClock
from orchestrator.measurement.step_timer import StepTimer
from tests.orchestrator.measurement.fakes import FakeClock


def stepped(timer: StepTimer, clock: FakeClock, num_steps: int) -> None:
    """Take steps of 3 ms, one of them before the batch is there."""
    for _ in range(num_steps):
        timer.begin_step()
        clock.sleep(0.001)
        timer.receive_batch()
        clock.sleep(0.002)
        timer.end_step(5)


def test_an_epoch_begins_before_its_loader_and_ends_after_it() -> None:
    clock = FakeClock()
    timer = StepTimer(HostClock(clock))
    timer.begin_epoch()
    clock.sleep(0.1)
    stepped(timer, clock, 4)
    clock.sleep(0.05)
    timer.end_epoch(0)

    (epoch,) = timer.epochs
    assert epoch.start_s == pytest.approx(0.101)
    assert epoch.duration_s == pytest.approx(0.162)
    assert sum(block.duration_s for block in timer.blocks) == pytest.approx(0.162)


def test_phases_are_those_of_the_step_in_which_they_were_added() -> None:
    clock = FakeClock()
    timer = StepTimer(HostClock(clock))
    timer.begin_epoch()
    timer.begin_step()
    assert timer.step is None, "its batch is not there yet"
    timer.receive_batch()
    assert timer.step is not None
    assert not timer.has_named_phases
    with timer.phase(Phase.FORWARD):
        clock.sleep(0.003)
    begin = timer.mark()
    clock.sleep(0.001)
    timer.add_phase(Phase.FORWARD, begin, timer.mark())
    assert timer.has_named_phases
    timer.end_step(1)
    assert timer.step is None
    timer.end_epoch(0)
    (block,) = timer.blocks
    assert block.phases[Phase.FORWARD] == pytest.approx(0.004)


def test_steps_become_blocks_while_the_epoch_goes_on() -> None:
    clock = FakeClock()
    timer = StepTimer(HostClock(clock), burst=2)
    timer.begin_epoch()
    stepped(timer, clock, 15)
    assert timer.blocks == []
    timer.close_blocks(0)
    assert timer.num_steps == sum(block.num_steps for block in timer.blocks) == 2 + 8
    stepped(timer, clock, 5)
    timer.end_epoch(0)
    assert sum(block.num_steps for block in timer.blocks) == 20


def test_the_step_after_the_end_of_a_slice_begins_another() -> None:
    clock = FakeClock()
    timer = StepTimer(HostClock(clock))
    timer.begin_epoch()
    stepped(timer, clock, 3)
    timer.end_slice(0)
    assert timer.num_steps == 3
    stepped(timer, clock, 3)
    timer.end_epoch(0)
    ends = {block.first_step: block.end for block in timer.blocks}
    assert ends[0] is Dropped.EPOCH_START
    assert ends[3] is Dropped.SLICE_START


def test_an_epoch_without_a_step_is_none() -> None:
    timer = StepTimer(HostClock(FakeClock()))
    timer.begin_epoch()
    timer.begin_step()
    timer.end_epoch(0)
    assert timer.epochs == []
    assert timer.blocks == []
