"""Numbers as text."""

from __future__ import annotations

import pytest

from orchestrator.formats import clock, counted, duration, number, percent, rate


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.354, "0.35 s"), (42.4, "42 s"), (277, "4 min 37 s"), (3600, "1 h"), (7530, "2 h 5 min")],
)
def test_a_duration_is_read_at_a_glance(seconds: float, text: str) -> None:
    assert duration(seconds) == text


def test_a_clock_runs() -> None:
    assert [clock(s) for s in (-1, 42.4, 725, 3753)] == ["0:00", "0:42", "12:05", "1:02:33"]


def test_numbers_have_the_digits_that_are_read() -> None:
    assert [number(v) for v in (0.123456, 12.34567, 24_176.4)] == ["0.1235", "12.35", "24,176"]
    assert [percent(0.914), percent(0.914, digits=1)] == ["91 %", "91.4 %"]
    assert [counted(n, "trial") for n in (0, 1, 1200)] == ["0 trials", "1 trial", "1,200 trials"]
    rates = (0.5, 9.999, 99.99, 999.6, 41_234, 1.2e6)
    texts = ["0.50 /s", "10.0 /s", "100 /s", "1.00 k/s", "41.2 k/s", "1.20 M/s"]
    assert [rate(v) for v in rates] == texts
