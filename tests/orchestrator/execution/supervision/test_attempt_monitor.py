from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace

import pytest

from orchestrator.execution.leases import CoreLeases, Lease
from orchestrator.execution.supervision import attempt_monitor
from orchestrator.execution.supervision.attempt_monitor import (
    LIMIT_INTERLEAVED_S,
    STALL_LIMIT_S,
    ActiveClock,
    AttemptMonitor,
    StallDetector,
)
from orchestrator.execution.telemetry.own_overhead import OwnOverhead
from orchestrator.kernel.executor import Rank
from orchestrator.trial import Isolation
from tests.orchestrator.execution.supervised import launch_of

PIDS = [os.getpid()]


class Clock:
    now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


def monitor(
    folder: Path,
    clock: Clock,
    isolation: Isolation = Isolation.LEASED,
    **settings: object,
) -> tuple[AttemptMonitor, Lease]:
    """A monitor of this very process, as of a trial on the first two of four cores."""
    lease = Lease(cores=(0, 1), isolation=isolation)
    made = AttemptMonitor(
        launch_of(folder, **settings),
        [Rank(cores=lease.cores if isolation is not Isolation.SHARED else ())],
        lease,
        CoreLeases(folder / "locks", range(4), {}),
        clock,
    )
    return made, lease


def test_the_time_limit_counts_from_the_start(tmp_path: Path) -> None:
    clock = Clock()
    made, _ = monitor(tmp_path, clock, time_limit_s=10.0)
    clock.now_s = 5.0  # of the server's imports
    made.start()
    clock.now_s = 15.0
    assert made.overdue() == ""
    clock.now_s = 15.1
    assert made.overdue() == "took longer than its time limit of 10 s"


def test_without_a_time_limit_no_trial_is_overdue(tmp_path: Path) -> None:
    clock = Clock()
    made, _ = monitor(tmp_path, clock, time_limit_s=None)
    clock.now_s = 1e9
    assert made.overdue() == ""


def test_memory_over_the_limit_is_returned_and_explained(tmp_path: Path) -> None:
    made, _ = monitor(tmp_path, Clock(), memory_gib=1e-6)
    num_bytes = made.excess(PIDS)
    assert num_bytes is not None
    assert num_bytes > 2**20
    assert made.memory_reason(3 * 2**29, "at step 4") == (
        "out of memory at step 4: 1.50 GiB of its own, above the trial's limit of 0.00 GiB "
        "(what the sweep gives a trial)"
    )


def test_memory_within_the_limit_is_not_returned(tmp_path: Path) -> None:
    made, _ = monitor(tmp_path, Clock(), memory_gib=1e6)
    assert made.excess(PIDS) is None


def test_tags_name_the_cores_that_the_trial_is_bound_to(tmp_path: Path) -> None:
    made, lease = monitor(tmp_path, Clock())
    assert made.tags()["core_ids"] == "0-1"
    made.unbind()
    assert "core_ids" not in made.tags()
    assert lease.isolation is Isolation.SHARED


def test_a_trial_that_was_paused_is_tagged_as_interleaved(tmp_path: Path) -> None:
    made, _ = monitor(tmp_path, Clock(), interleaved=True)
    assert "interleaved" not in made.tags(), "it may end within its first slice"
    made.pause(PIDS)
    assert made.tags()["interleaved"] == "true"


@pytest.mark.parametrize(("num_usable", "expected"), [(2, 1.0), (3, 2 / 3), (4, None)])
def test_the_overhead_of_the_sweep_is_divided_among_the_cores(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    num_usable: int,
    expected: float | None,
) -> None:
    """From four cores on one is kept for the driver, whose time is then not on trials' cores."""
    overhead: dict[str, float] = {}

    class Spy:
        def __init__(self, *, overhead_s: object, **_: object) -> None:
            assert callable(overhead_s)
            overhead["s"] = overhead_s()

    module = "orchestrator.execution.supervision.attempt_monitor"
    monkeypatch.setattr(f"{module}.Telemetry", Spy)
    monkeypatch.setattr(f"{module}.usable_cores", lambda: tuple(range(num_usable)))
    monkeypatch.setattr(OwnOverhead, "cpu_s", lambda _: 1.0)
    monitor(tmp_path, Clock())
    assert overhead["s"] == pytest.approx(expected or 0.0)


@pytest.fixture
def now(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """The time of both system clocks, to be set."""
    now = SimpleNamespace(s=100.0)
    clocks = SimpleNamespace(monotonic=lambda: now.s, time=lambda: now.s + 1e9)
    monkeypatch.setattr(attempt_monitor, "time", clocks)
    return now


def test_stands_at_zero_before_the_start(now: SimpleNamespace) -> None:
    clock = ActiveClock()
    now.s += 5
    assert (clock.now(), clock.began_at) == (0.0, None)


def test_counts_from_the_start(now: SimpleNamespace) -> None:
    clock = ActiveClock()
    now.s += 5
    clock.start()
    now.s += 2
    assert (clock.now(), clock.began_at) == (2.0, 1e9 + 105)


def test_a_second_start_changes_nothing(now: SimpleNamespace) -> None:
    clock = ActiveClock()
    clock.start()
    now.s += 2
    clock.start()
    now.s += 1
    assert (clock.now(), clock.began_at) == (3.0, 1e9 + 100)


def test_stands_still_while_paused(now: SimpleNamespace) -> None:
    clock = ActiveClock()
    clock.start()
    now.s += 1
    clock.pause()
    now.s += 10
    assert clock.now() == 1.0
    clock.resume()
    now.s += 2
    assert clock.now() == 3.0


def test_resuming_a_clock_that_counts_changes_nothing(now: SimpleNamespace) -> None:
    clock = ActiveClock()
    clock.start()
    now.s += 1
    clock.resume()
    assert clock.now() == 1.0


class StallClock:
    def __init__(self) -> None:
        self.now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


def test_an_idle_process_is_stuck_after_the_limit_and_not_before() -> None:
    clock = StallClock()
    detector = StallDetector(clock)
    clock.now_s = STALL_LIMIT_S
    assert detector.reason() == ""
    clock.now_s += 1
    assert detector.reason() == "no report for 3600 s, in which it used under 1% of a core"


def test_a_message_starts_the_limit_anew() -> None:
    clock = StallClock()
    detector = StallDetector(clock)
    clock.now_s = STALL_LIMIT_S
    detector.message_arrived()
    clock.now_s += STALL_LIMIT_S
    assert detector.reason() == ""


def test_a_process_that_works_is_given_the_same_time_again() -> None:
    clock = StallClock()
    detector = StallDetector(clock)
    detector.update(cpu_s=1000.0)
    clock.now_s = STALL_LIMIT_S + 1
    assert detector.reason() == ""
    clock.now_s = 2 * STALL_LIMIT_S
    assert detector.reason() == ""
    clock.now_s = 2 * STALL_LIMIT_S + 3
    assert detector.reason() != "", "what it did in the first hour does not count in the second"


def test_an_interleaved_trial_may_wait_for_what_another_holds() -> None:
    clock = StallClock()
    detector = StallDetector(clock, interleaved=True)
    clock.now_s = LIMIT_INTERLEAVED_S + 1
    assert detector.reason().endswith("it may wait for what an interleaved trial holds")
