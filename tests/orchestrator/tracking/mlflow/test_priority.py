"""The priority of the writer's thread: below all others while trials run, and back again."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.conftest import ROOT

AUTOGROUP = Path("/proc/self/autogroup")

PROGRAM = """
import json, os, sys, threading
from pathlib import Path
from orchestrator.tracking.mlflow.priority import lower, restore

over, ready = threading.Event(), threading.Event()
thread = threading.Thread(target=lambda: (ready.set(), over.wait()))
thread.start()
ready.wait()
autogroup = Path("/proc/self/autogroup")

def state():
    nice = autogroup.read_text().split()[-1] if autogroup.exists() else ""
    return os.sched_getscheduler(thread.native_id), os.sched_getscheduler(0), nice

states = [state()]
for change in (lower, restore):
    change(thread.native_id)
    states.append(state())
try:
    os.sched_setscheduler(thread.native_id, os.SCHED_OTHER, os.sched_param(0))
    is_permitted = True
except PermissionError:
    is_permitted = False
print(json.dumps([*states, is_permitted]))
over.set()
"""
"""Lowers and restores a thread, in a session of its own: the tests' own session stays as it is."""


@dataclass(frozen=True, kw_only=True)
class State:
    """Scheduling policies of the thread and of the main thread, and its session's niceness."""

    thread: int
    main: int
    nice: str


@pytest.fixture(scope="module")
def states() -> tuple[State, State, State, bool]:
    """States before, lowered and restored, and True where a thread may be restored."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], cwd=ROOT, start_new_session=True,
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    *states, is_permitted = json.loads(done.stdout)
    before, lowered, restored = (
        State(thread=thread, main=main, nice=nice) for thread, main, nice in states
    )
    return before, lowered, restored, is_permitted


def test_a_lowered_thread_gets_only_time_that_no_other_wants(
    states: tuple[State, State, State, bool],
) -> None:
    before, lowered, _, _ = states
    assert (before.thread, lowered.thread) == (os.SCHED_OTHER, os.SCHED_IDLE)


def test_the_thread_that_writes_the_end_of_a_run_is_never_lowered(
    states: tuple[State, State, State, bool],
) -> None:
    assert [state.main for state in states[:3]] == [os.SCHED_OTHER] * 3


def test_a_thread_is_restored_where_that_is_permitted(
    states: tuple[State, State, State, bool],
) -> None:
    *_, restored, is_permitted = states
    assert restored.thread == (os.SCHED_OTHER if is_permitted else os.SCHED_IDLE)


def test_the_session_yields_to_others_and_is_restored(
    states: tuple[State, State, State, bool],
) -> None:
    if not os.access(AUTOGROUP, os.W_OK):
        pytest.skip("this kernel does not group processes by session")
    if os.geteuid() != 0:
        pytest.skip("without privileges the kernel takes one change in a tenth of a second")
    assert [state.nice for state in states[:3]] == ["0", "19", "0"]
