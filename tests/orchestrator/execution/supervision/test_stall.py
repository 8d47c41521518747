from __future__ import annotations

from orchestrator.execution.supervision.stall import (
    LIMIT_INTERLEAVED_S,
    STALL_LIMIT_S,
    StallDetector,
)


class Clock:
    def __init__(self) -> None:
        self.now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


def test_an_idle_process_is_stuck_after_the_limit_and_not_before() -> None:
    clock = Clock()
    detector = StallDetector(clock)
    clock.now_s = STALL_LIMIT_S
    assert detector.reason() == ""
    clock.now_s += 1
    assert detector.reason() == "no report for 3600 s, in which it used under 1% of a core"


def test_a_message_starts_the_limit_anew() -> None:
    clock = Clock()
    detector = StallDetector(clock)
    clock.now_s = STALL_LIMIT_S
    detector.message_arrived()
    clock.now_s += STALL_LIMIT_S
    assert detector.reason() == ""


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


def test_an_interleaved_trial_may_wait_for_what_another_holds() -> None:
    clock = Clock()
    detector = StallDetector(clock, interleaved=True)
    clock.now_s = LIMIT_INTERLEAVED_S + 1
    assert detector.reason().endswith("it may wait for what an interleaved trial holds")
