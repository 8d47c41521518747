"""Calls of Ray in a thread: within C++ they may wait for ever, and no signal reaches them."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable
from threading import Event, Thread, current_thread, main_thread
from typing import Final

from orchestrator.kernel.executor import ExecutorLost

LOOK_S = 0.5
"""Period at which the main thread checks whether Ray is alive."""

ABANDON_S = 3.0
"""Longest wait for Tune's end once it is abandoned. Its loop runs ten times a second."""

START_LIMIT_S = 180.0
"""Longest wait for ``ray.init``."""

_ROUND_S: Final = 0.02


class Abandoned(BaseException):
    """Raised in Tune's thread to end it. Tune would catch an :class:`Exception`, and ask Ray."""


class Apart:
    """A thread of Tune's, which is waited for as long as Ray is alive.

    Attributes:
        is_stuck: True if it has been abandoned, and is still within Ray.
    """

    is_stuck = False

    def __init__(self, lost: Callable[[], str], kill: Callable[[], None] = lambda: None) -> None:
        """Run nothing yet.

        Args:
            lost: Returns which process of Ray has died; empty while all are alive.
            kill: Kills the others, which would only log the death.
        """
        self._lost, self._kill = lost, kill
        self._is_abandoned = Event()
        self._raised: list[BaseException] = []

    def is_over(self) -> bool:
        """Return True if the thread is abandoned, or Ray has died."""
        return self._is_abandoned.is_set() or bool(self._lost())

    def run(self, body: Callable[[], None]) -> None:
        """Run ``body`` in the thread, to its end.

        Raises:
            ExecutorLost: Ray has died meanwhile.
            BaseException: What ``body`` has raised, or a signal's handler.
        """
        thread = Thread(target=_keep_error, args=(body, self._raised), name="tune", daemon=True)
        thread.start()
        try:
            while thread.is_alive():
                thread.join(LOOK_S)
                if thread.is_alive():
                    self._require_life()
        except BaseException:
            self._is_abandoned.set()
            thread.join(ABANDON_S)
            self.is_stuck = thread.is_alive()
            raise
        if self._raised:
            self._require_life()  # a death may be the cause
            raise self._raised[0]

    def _require_life(self) -> None:
        if reason := self._lost():
            self._kill()
            raise ExecutorLost(reason)


def init_apart(init: Callable[[], None], refusal: Callable[[], str]) -> Callable[[], None]:
    """Call ``ray.init`` in a thread and wait for it; signals are handled meanwhile.

    The thread stays: the kernel ends Ray's processes when the thread ends that has started them.

    Args:
        init: Calls ``ray.init``.
        refusal: Returns why to stop waiting, or an empty string.

    Returns:
        A function that ends the thread.

    Raises:
        TimeoutError: Ray has not started in time, or there is a refusal.
        Exception: What ``init`` has raised.
    """
    done, ended, raised = Event(), Event(), list[BaseException]()

    def run() -> None:
        _keep_error(init, raised)
        done.set()
        if not raised:
            ended.wait()

    thread = Thread(target=run, name="ray", daemon=True)
    thread.start()
    _await_start(done, refusal)
    if raised:
        raise raised[0] if isinstance(raised[0], Exception) else RuntimeError(str(raised[0]))

    def end() -> None:
        ended.set()
        thread.join()

    return end


def _await_start(done: Event, refusal: Callable[[], str]) -> None:
    is_main = current_thread() is main_thread()
    handler = signal.getsignal(signal.SIGTERM) if is_main else None
    deadline = time.monotonic() + START_LIMIT_S
    ask_at = 0.0
    while True:
        is_done = done.wait(_ROUND_S)
        if handler is not None:
            # Ray sets its own meanwhile, in C++, which aborts the process.
            signal.signal(signal.SIGTERM, handler)
        if is_done:
            return
        if (now := time.monotonic()) >= deadline:
            raise TimeoutError(f"timed out after {START_LIMIT_S:g} s")
        if now >= ask_at:
            ask_at = now + LOOK_S
            if reason := refusal():
                raise TimeoutError(reason)


def _keep_error(body: Callable[[], None], raised: list[BaseException]) -> None:
    try:
        body()
    except BaseException as error:  # noqa: BLE001 - the waiting thread raises it again
        raised.append(error)
