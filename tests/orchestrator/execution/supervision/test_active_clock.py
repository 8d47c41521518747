from __future__ import annotations

from types import SimpleNamespace

import pytest

from orchestrator.execution.supervision import active_clock
from orchestrator.execution.supervision.active_clock import ActiveClock


@pytest.fixture
def now(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """The time of both system clocks, to be set."""
    now = SimpleNamespace(s=100.0)
    clocks = SimpleNamespace(monotonic=lambda: now.s, time=lambda: now.s + 1e9)
    monkeypatch.setattr(active_clock, "time", clocks)
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
