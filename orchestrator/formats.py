"""Numbers as text: durations, shares, counts, figures. One function each, used everywhere."""

from collections.abc import Sequence


def duration(seconds: float) -> str:
    """Return a duration to read: ``0.35 s``, ``42 s``, ``4 min 37 s``, ``2 h 5 min``."""
    if seconds < 60:
        return f"{seconds:.2g} s" if seconds < 10 else f"{seconds:.0f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s" if rest else f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if minutes else f"{hours} h"


def clock(seconds: float) -> str:
    """Return a duration as a clock that runs: ``0:42``, ``12:05`` or ``1:02:33``."""
    minutes, second = divmod(max(0, round(seconds)), 60)
    hours, minute = divmod(minutes, 60)
    return f"{hours}:{minute:02}:{second:02}" if hours else f"{minute}:{second:02}"


def percent(share: float, *, digits: int = 0) -> str:
    """Return ``0.914`` as ``91 %``, with so many decimals."""
    return f"{100 * share:.{digits}f} %"


def number(value: float) -> str:
    """Return four significant digits, thousands separated: ``0.9234``, ``24,176``."""
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def listed(words: Sequence[str], before_last: str) -> str:
    """Return ``lr, depth and width`` for three words and ``and``."""
    return f" {before_last} ".join(filter(None, [", ".join(words[:-1]), *words[-1:]]))


def counted(count: int, noun: str) -> str:
    """Return a count with its noun: ``1 trial``, ``1,200 trials``."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
