"""Tune in a thread: its end, its errors, and a Ray that dies under it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import pytest

from orchestrator.execution.base import ExecutorLost
from orchestrator.execution.ray import apart
from orchestrator.execution.ray.apart import Abandoned, Apart


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
