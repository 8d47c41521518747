"""Tune apart from the main thread, which a Ray that has died could hold for ever.

Calls of Ray wait for its processes within C++, where no signal and no exception reaches them.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import Event, Thread

from orchestrator.execution.base import ExecutorLost

LOOK_S = 0.5
"""How often the main thread asks whether Ray lives."""

ABANDON_S = 3.0
"""Longest wait for Tune's end once it is abandoned. Its loop comes round ten times a second."""


class Abandoned(BaseException):
    """Raised in Tune's thread to end it. Tune would catch an :class:`Exception`, and ask Ray."""


class Apart:
    """A thread of Tune's, which is waited for as long as Ray lives.

    Attributes:
        is_stuck: True if it has been abandoned, and is still within Ray.
    """

    is_stuck = False

    def __init__(self, lost: Callable[[], str], kill: Callable[[], None] = lambda: None) -> None:
        """Run nothing yet.

        Args:
            lost: Returns which process of Ray has died; empty while it lives.
            kill: Kills the others, which would only write what has befallen them.
        """
        self._lost, self._kill = lost, kill
        self._is_abandoned = Event()
        self._raised: list[BaseException] = []

    def is_over(self) -> bool:
        """Return True if nobody waits for the thread, or Ray has died."""
        return self._is_abandoned.is_set() or bool(self._lost())

    def run(self, body: Callable[[], None]) -> None:
        """Run ``body`` in the thread, to its end.

        Raises:
            ExecutorLost: Ray has died meanwhile.
            BaseException: What ``body`` has raised, or a signal's handler.
        """
        thread = Thread(target=self._run, args=(body,), name="tune", daemon=True)
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
            self._require_life()  # it may be what has raised that
            raise self._raised[0]

    def _run(self, body: Callable[[], None]) -> None:
        try:
            body()
        except BaseException as error:  # noqa: BLE001 - the main thread raises it again
            self._raised.append(error)

    def _require_life(self) -> None:
        if reason := self._lost():
            self._kill()
            raise ExecutorLost(reason)
