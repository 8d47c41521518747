"""``ray.init`` in a thread: waited for within limits, and never for ever."""

from __future__ import annotations

import signal
import threading

import pytest

from orchestrator.execution.ray import init_apart as module
from orchestrator.execution.ray.init_apart import init_apart


def test_its_thread_lives_until_it_is_ended() -> None:
    threads: list[threading.Thread] = []
    end = init_apart(lambda: threads.append(threading.current_thread()), lambda: "")
    assert threads[0].is_alive()
    end()
    assert not threads[0].is_alive()


@pytest.mark.parametrize("raised", [ValueError("no"), SystemExit("no")])
def test_what_it_raises_is_raised_here(raised: BaseException) -> None:
    def init() -> None:
        raise raised

    with pytest.raises(Exception, match=r"^no$"):
        init_apart(init, lambda: "")


def test_it_is_given_up_for_a_reason_and_after_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    stuck = threading.Event()
    try:
        with pytest.raises(TimeoutError, match="it has died"):
            init_apart(stuck.wait, lambda: "it has died")  # type: ignore[arg-type]
        monkeypatch.setattr(module, "LIMIT_S", 0.1)
        with pytest.raises(TimeoutError, match="timed out"):
            init_apart(stuck.wait, lambda: "")  # type: ignore[arg-type]
    finally:
        stuck.set()


def test_a_handler_that_is_replaced_meanwhile_is_set_again() -> None:
    """A thread cannot set one from Python: C++ code can."""
    before = signal.getsignal(signal.SIGTERM)

    def init() -> None:
        import ctypes

        ctypes.CDLL(None).signal(int(signal.SIGTERM), None)

    heard: list[int] = []
    signal.signal(signal.SIGTERM, lambda number, _: heard.append(number))
    try:
        init_apart(init, lambda: "")()
        signal.raise_signal(signal.SIGTERM)
        assert heard == [signal.SIGTERM]
    finally:
        signal.signal(signal.SIGTERM, before)
