from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace

import pytest

from orchestrator.execution.leases import CoreLeases, Lease
from orchestrator.execution.supervision import attempt_monitor
from orchestrator.execution.supervision.attempt_monitor import (
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
) -> AttemptMonitor:
    """A monitor of this very process, as of a trial on the first two of four cores."""
    lease = Lease(cores=(0, 1), isolation=isolation)
    return AttemptMonitor(
        launch_of(folder, **settings),
        [Rank(cores=lease.cores if isolation is not Isolation.SHARED else ())],
        lease,
        CoreLeases(folder / "locks", range(4), {}),
        clock,
    )


def test_the_time_limit_counts_from_the_start(tmp_path: Path) -> None:
    clock = Clock()
    made = monitor(tmp_path, clock, time_limit_s=10.0)
    clock.now_s = 5.0  # of the server's imports
    made.start()
    clock.now_s = 15.0
    assert made.overdue() == ""
    clock.now_s = 15.1
    assert made.overdue() == "took longer than its time limit of 10 s"


def test_memory_over_the_limit_is_returned_and_explained(tmp_path: Path) -> None:
    made = monitor(tmp_path, Clock(), memory_gib=1e-6)
    num_bytes = made.excess(PIDS)
    assert num_bytes is not None
    assert num_bytes > 2**20
    assert made.memory_reason(3 * 2**29, "at step 4") == (
        "out of memory at step 4: 1.50 GiB of its own, above the trial's limit of 0.00 GiB "
        "(what the sweep gives a trial)"
    )


def test_tags_name_the_cores_that_the_trial_is_bound_to(tmp_path: Path) -> None:
    bound, unbound = monitor(tmp_path, Clock()), monitor(tmp_path, Clock(), Isolation.SHARED)
    assert bound.tags()["core_ids"] == "0-1"
    assert "core_ids" not in unbound.tags()


def test_a_trial_that_was_paused_is_tagged_as_interleaved(tmp_path: Path) -> None:
    made = monitor(tmp_path, Clock(), interleaved=True)
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


def test_an_idle_process_is_stuck_after_the_limit_and_not_before() -> None:
    clock = Clock()
    detector = StallDetector(clock)
    clock.now_s = STALL_LIMIT_S
    assert detector.reason() == ""
    clock.now_s += 1
    assert detector.reason() == "no report for 3600 s, in which it used under 1% of a core"


def test_a_process_that_works_is_given_the_same_time_again() -> None:
    clock = Clock()
    detector = StallDetector(clock)
    detector.update(cpu_s=1000.0)
    clock.now_s = STALL_LIMIT_S + 1
    assert detector.reason() == ""
    clock.now_s = 2 * STALL_LIMIT_S
    assert detector.reason() == ""
    clock.now_s = 2 * STALL_LIMIT_S + 3
    assert detector.reason() != "", "what it did in the first hour does not count in the second"
