"""Ctrl-C and SIGTERM: the first one ends a run in order, a second one ends it at once."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType

EXIT_INTERRUPTED = 128 + signal.SIGINT
EXIT_TERMINATED = 128 + signal.SIGTERM

_STDERR = 2


class Terminated(KeyboardInterrupt):
    """SIGTERM, which ends a driver as Ctrl-C does, with an exit code of its own.

    Attributes:
        was_raised: True once it was raised. Ray makes a plain ``KeyboardInterrupt`` of one that
            comes while it is within its own code, so the exception alone does not tell.
    """

    was_raised = False


@contextmanager
def sigterm_raises() -> Iterator[None]:
    """Within it SIGTERM raises :class:`Terminated`."""
    Terminated.was_raised = False
    before = signal.getsignal(signal.SIGTERM)
    take_sigterm()
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def take_sigterm() -> None:
    """Have SIGTERM raise :class:`Terminated`; called again once Ray has set its own handler."""
    signal.signal(signal.SIGTERM, _terminate)


def ignore_sigterm() -> None:
    """Ignore SIGTERM from here on, while everything is taken down."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)


def _terminate(_number: int, _frame: FrameType | None) -> None:
    ignore_sigterm()  # a second one would cut short what the first one has begun to take down
    Terminated.was_raised = True
    raise Terminated


def exit_code_of_interrupt() -> int:
    """Return the exit code for the interrupt that was caught."""
    return EXIT_TERMINATED if Terminated.was_raised else EXIT_INTERRUPTED


@contextmanager
def first_signal(act: Callable[[], None]) -> Iterator[list[int]]:
    """Within it the first Ctrl-C or SIGTERM calls ``act``; a second one ends all at once.

    The first one must not raise: an exception that a signal raises amid an import may leave the
    lock of all imports taken. Ray imports while it is closed in a thread of its own, which would
    then wait for ever.

    Yields:
        The number of the signal, once there was one.
    """
    received: list[int] = []
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

    def receive(number: int, _frame: FrameType | None) -> None:
        received.append(number)
        # Before the action: a signal that comes meanwhile is the second one.
        signal.signal(number, before[signal.Signals(number)])
        act()

    for number in before:
        signal.signal(number, receive)
    try:
        yield received
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def announce_the_end() -> None:
    """Write that the run ends once everything is written.

    A signal may come amid another write to the stream, which must not be entered again, and
    when the reader of the stream has gone.
    """
    with suppress(OSError):
        text = b"ending once everything is written, in seconds; Ctrl-C again to end at once\n"
        # A terminal has shown the keys that were pressed, on the same line.
        os.write(_STDERR, (b"\n" if os.isatty(_STDERR) else b"") + text)
