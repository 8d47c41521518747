"""Signals that end a run: the first one in order, one more while tables are written at once.

They are those that terminals, shells and batch systems send. One that was ignored when the program
was started stays so: ``nohup`` ignores SIGHUP.
"""

import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any, Final

from orchestrator.system.lifeline import JOB_SIGNALS

TERMINATING: Final = (*JOB_SIGNALS, signal.SIGXCPU)
"""Signals that end a driver as Ctrl-C does, with their own exit codes."""

ENDING: Final = (signal.SIGINT, *TERMINATING)

_ENDS_AT_ONCE: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGQUIT)
"""Signals that end a run at once when they come a second time; others are repeated by systems."""

SAME_S: Final = 0.1
"""A signal that comes again within this time is the same one: ``timeout`` sends it twice."""

_STDERR = 2
_TERMINATED: Final[list[int]] = []
"""Those that have come. Ray makes an interrupt of its own of one that comes within its code, so the
exception cannot have the number."""


@contextmanager
def signals_raise() -> Iterator[None]:
    """Raise ``KeyboardInterrupt`` for each of :data:`TERMINATING` within the context."""
    _TERMINATED.clear()
    with _handled(TERMINATING, _terminate):
        yield


def ignore_signals() -> None:
    """Ignore :data:`TERMINATING` from here on, while everything is taken down."""
    for number in TERMINATING:
        signal.signal(number, signal.SIG_IGN)


def _terminate(number: int, _frame: FrameType | None) -> None:
    ignore_signals()  # a second one would cut short what the first one has begun to take down
    _TERMINATED.append(number)
    raise KeyboardInterrupt


def raise_if_terminated() -> None:
    """Raise ``KeyboardInterrupt`` again, where other code has caught it."""
    if _TERMINATED:
        raise KeyboardInterrupt


def exit_code_of_interrupt() -> int:
    """Return the exit code for the interrupt that was caught."""
    return 128 + (_TERMINATED[-1] if _TERMINATED else signal.SIGINT)


@contextmanager
def first_signal(act: Callable[[], None]) -> Iterator[list[int]]:
    """Call ``act`` at the first of :data:`ENDING`; a second Ctrl-C or SIGTERM ends everything.

    The first one must not raise: an exception that a signal raises amid an import may leave the
    lock of all imports taken. Ray imports while it is closed in a separate thread, which would
    then wait for ever.

    Yields:
        The numbers of the signals that have come, in order.
    """
    received: list[int] = []
    received_at = 0.0

    def receive(number: int, _frame: FrameType | None) -> None:
        nonlocal received_at
        if number in received:
            if number in _ENDS_AT_ONCE and time.monotonic() >= received_at + SAME_S:
                signal.signal(number, before[number])
                signal.raise_signal(number)
            return
        received.append(number)
        received_at = time.monotonic()
        if len(received) == 1:
            act()

    with _handled(ENDING, receive) as before:
        yield received


@contextmanager
def _handled(
    numbers: tuple[signal.Signals, ...],
    handler: Any,  # noqa: ANN401 - as the module ``signal`` has them
) -> Iterator[dict[int, Any]]:
    """Set a handler meanwhile for signals that are not ignored; yield those before it."""
    before: dict[int, Any] = {number: signal.getsignal(number) for number in numbers}
    kept = {number: h for number, h in before.items() if h not in (None, signal.SIG_IGN)}
    for number in kept:
        signal.signal(number, handler)
    try:
        yield kept
    finally:
        for number, was in kept.items():
            signal.signal(number, was)


def announce_the_end() -> None:
    """Write that the run ends once everything is written.

    A signal may come amid another write to the stream, which must not be entered again, and
    when the reader of the stream has gone.
    """
    with suppress(OSError):
        text = b"ending once everything is written, in seconds; Ctrl-C again to end at once\n"
        # A terminal has shown the keys that were pressed, on the same line.
        os.write(_STDERR, (b"\n" if os.isatty(_STDERR) else b"") + text)
