"""Clocks that become seconds: CUDA's with made-up events, which are as coarse as real ones."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
import torch

from orchestrator.measurement.clocks import CudaClock, HostClock


@dataclass
class Event:
    """At so many milliseconds of the device's time, told in single precision, as CUDA does."""

    at_ms: float

    def elapsed_time(self, later: Event) -> float:
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


def test_the_host_s_clock_tells_seconds_since_it_was_made() -> None:
    clock = HostClock()
    first, second = clock.resolve([clock.mark(), clock.mark()])
    assert 0 <= first <= second < 1
