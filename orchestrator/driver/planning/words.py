"""Numbers of a plan in words: counts, durations, shares."""

from __future__ import annotations


def count(number: int | None, noun: str) -> str:
    """Return a number with its noun: ``1 trial``, ``1,200 trials``."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def trials(low: int, high: int | None) -> str:
    """Return a range of trials in words; ``high`` is None where there is no limit."""
    if high is None:
        return f"{low:,} trials and more"
    return count(high, "trial") if low == high else f"{low:,} to {count(high, 'trial')}"


def duration(seconds: float) -> str:
    """Return a duration in the unit that a reader thinks in."""
    if seconds < 120:
        return f"{seconds:.2g} s" if seconds < 10 else f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 120 else f"{minutes // 60} h {minutes % 60} min"


def percent(share: float) -> str:
    """Return a fraction of 1 in percent: ``0.4 %``, ``12 %``, ``140 %``."""
    return f"{100 * share:.0f} %" if share >= 0.1 else f"{100 * share:.2g} %"
