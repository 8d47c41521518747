"""Errors of a request: one message, one hint, no traceback."""

import difflib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar


class SweepError(Exception):
    """Request of the user that cannot be done.

    The command line prints ``message`` and ``hint`` and exits with code 2.

    Args:
        message: Problem, with the file and the offending value.
        hint: Allowed values, or the thing to do instead.
    """

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message}\n  {self.hint}" if self.hint else self.message


class SweepFileError(SweepError):
    """Sweep file that is missing, does not run, or has no usable ``SWEEP``."""


class KnobError(SweepError, ValueError):
    """Unknown knob, or a value of the wrong type or outside its range."""


class DataError(SweepError):
    """Data set that is absent or has wrong content."""


class RunDirectoryError(SweepError):
    """Run directory that cannot be written, is in use, or does not fit the request."""


class Problems(SweepError):
    """Errors of one pass, reported together."""

    def __init__(self, problems: Sequence[SweepError]) -> None:
        super().__init__("\n".join(str(problem) for problem in problems))
        self.problems = tuple(problems)


@contextmanager
def refusing_os_errors(hint: str = "") -> Iterator[None]:
    """Turn an ``OSError`` within it into a wrong request.

    Args:
        hint: What to do instead.

    Raises:
        SweepError: In the place of the ``OSError``; names the file.
    """
    try:
        yield
    except OSError as error:
        there = "" if error.filename is None else f"{error.filename}: "
        raise SweepError(f"{there}cannot be used: {error.strerror or error}", hint) from error


def nearest(name: str, options: Iterable[str]) -> str:
    """Return ``"; did you mean 'x'?"`` for the option closest to ``name``, or ``""``."""
    close = difflib.get_close_matches(name, list(options), n=1, cutoff=0.6)
    return f"; did you mean {str(close[0])!r}?" if close else ""


def raise_all(problems: Sequence[SweepError]) -> None:
    """Raise the only problem, or all of them as one :class:`Problems`; nothing without any."""
    if len(problems) == 1:
        raise problems[0]
    if problems:
        raise Problems(problems)


_collector: ContextVar[list[SweepError] | None] = ContextVar("_collector", default=None)


@contextmanager
def collecting_problems() -> Iterator[list[SweepError]]:
    """Collect the problems that :func:`refuse` would raise within it.

    A refused config has its defaults, so that a sweep file is read to its end and all its
    problems are reported together.
    """
    problems: list[SweepError] = []
    token = _collector.set(problems)
    try:
        yield problems
    finally:
        _collector.reset(token)


def refuse(problems: Sequence[SweepError]) -> None:
    """Raise ``problems``, or add them to those that are being collected."""
    collector = _collector.get()
    if collector is None:
        raise_all(problems)
    else:
        collector.extend(problems)
