"""Problems with a request: raised at once, or collected so that all are reported together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar

from orchestrator.errors import SweepError, raise_all

_collector: ContextVar[list[SweepError] | None] = ContextVar("_collector", default=None)


@contextmanager
def collecting_problems() -> Iterator[list[SweepError]]:
    """Within it, :func:`refuse` keeps problems in the list instead of raising them.

    What was refused is built with its defaults, so that a sweep file is read to its end and
    all that is wrong with it is reported at once.
    """
    problems: list[SweepError] = []
    token = _collector.set(problems)
    try:
        yield problems
    finally:
        _collector.reset(token)


def refuse(problems: Sequence[SweepError]) -> None:
    """Raises ``problems``, or keeps them where they are being collected."""
    collector = _collector.get()
    if collector is None:
        raise_all(problems)
    else:
        collector.extend(problems)
