"""Tune in a thread: its end, its errors, and a Ray that dies under it."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable

import pytest

from orchestrator.execution.ray import apart
from orchestrator.execution.ray.apart import Abandoned, Apart, init_apart
from orchestrator.kernel.executor import ExecutorLost


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(apart, "LOOK_S", 0.01)
    monkeypatch.setattr(apart, "ABANDON_S", 0.2)


def test_it_runs_to_its_end_in_another_thread() -> None:
    threads: list[threading.Thread] = []
    Apart(lambda: "").run(lambda: threads.append(threading.current_thread()))
    assert threads
    assert threads != [threading.main_thread()]


def test_an_error_of_tunes_is_the_callers() -> None:
    with pytest.raises(OSError, match="no room"):
        Apart(lambda: "").run(_raising(OSError("no room")))


def _raising(error: BaseException) -> Callable[[], None]:
    def body() -> None:
        raise error

    return body


def test_an_error_by_rays_death_is_that_death() -> None:
    tune = Apart(lambda: "Ray's raylet has died")
    with pytest.raises(ExecutorLost, match="raylet has died"):
        tune.run(_raising(RuntimeError("a call of Ray failed")))


def test_a_death_ends_a_tune_whose_loop_comes_round() -> None:
    dead = threading.Event()
    tune = Apart(lambda: "Ray's GCS has died" if dead.is_set() else "")

    def body() -> None:
        dead.set()
        while not tune.is_over():
            time.sleep(0.01)
        raise Abandoned

    with pytest.raises(ExecutorLost, match="GCS has died"):
        tune.run(body)
    assert not tune.is_stuck


def test_a_death_is_not_waited_out_where_tune_is_within_ray() -> None:
    dead, within_ray = threading.Event(), threading.Event()
    tune = Apart(lambda: "Ray's GCS has died" if dead.is_set() else "")

    def body() -> None:
        dead.set()
        within_ray.wait(60)

    with pytest.raises(ExecutorLost, match="GCS has died"):
        tune.run(body)
    assert tune.is_stuck
    within_ray.set()


def test_a_second_interrupt_abandons_tune() -> None:
    def interrupted() -> str:
        if threading.current_thread() is threading.main_thread() and not tune_is_told.is_set():
            tune_is_told.set()
            raise KeyboardInterrupt
        return ""

    tune_is_told = threading.Event()
    tune = Apart(interrupted)

    def body() -> None:
        tune_is_told.wait(60)
        while not tune.is_over():
            time.sleep(0.01)
        raise Abandoned

    with pytest.raises(KeyboardInterrupt):
        tune.run(body)
    assert not tune.is_stuck


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
        monkeypatch.setattr(apart, "START_LIMIT_S", 0.1)
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
