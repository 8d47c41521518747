"""What can be wrong with a request: one message, one hint, no traceback."""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar


class SweepError(Exception):
    """Something the user asked for cannot be done.

    The command line prints ``message`` and ``hint`` and exits with code 2.

    Args:
        message: What is wrong, naming the file and the offending value.
        hint: What is allowed, or what to do instead.
    """

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message}\n  {self.hint}" if self.hint else self.message


class SweepFileError(SweepError):
    """The sweep file is missing, does not run, or holds no usable ``SWEEP``."""


class KnobError(SweepError, ValueError):
    """A knob is unknown, or its value has the wrong type or lies outside its range."""


class DataError(SweepError):
    """A data set is absent, or is not what it claims to be."""


class RunDirectoryError(SweepError):
    """A run directory cannot be written, is in use, or does not fit the request."""


class Problems(SweepError):
    """Several errors found in one pass, reported together."""

    def __init__(self, problems: Sequence[SweepError]) -> None:
        super().__init__("\n".join(str(problem) for problem in problems))
        self.problems = tuple(problems)


@contextmanager
def refusing_os_errors() -> Iterator[None]:
    """A block in which a file that cannot be read or written is a wrong request.

    Raises:
        SweepError: In the place of an ``OSError``; names the file.
    """
    try:
        yield
    except OSError as error:
        name = "" if error.filename is None else f"{os.fsdecode(error.filename)}: "
        raise SweepError(f"{name}cannot be used: {error.strerror or error}") from error


def nearest(name: str, options: Iterable[str]) -> str:
    """Returns ``"; did you mean 'x'?"`` for the option closest to ``name``, or ``""``."""
    close = difflib.get_close_matches(name, list(options), n=1, cutoff=0.6)
    return f"; did you mean {close[0]!r}?" if close else ""


def raise_all(problems: Sequence[SweepError]) -> None:
    """Raises nothing, the only problem, or all of them as one :class:`Problems`."""
    if len(problems) == 1:
        raise problems[0]
    if problems:
        raise Problems(problems)


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
