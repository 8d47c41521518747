"""Trees of real processes: ended ones still count, and shared pages count once."""

import mmap
import multiprocessing
import os
import time

import psutil
import pytest

from orchestrator.system.processes import ProcessTree, children_of, unshared_bytes
from tests.orchestrator.helpers.families import BURN, CHILD, READY, family

MIB = 2**20


def test_children_that_have_ended_still_count() -> None:
    with family(CHILD.format(BURN.format(0.3)) + "child.wait()\n" + READY) as process:
        tree = ProcessTree()
        first = tree.read([process.pid])
        assert first.pids == (process.pid,)
        assert first.cpu_s >= 0.3
        assert first.resident_bytes == pytest.approx(
            psutil.Process(process.pid).memory_info().rss, rel=0.2
        )
    assert tree.read([process.pid]).cpu_s >= first.cpu_s, "it never goes down"


def test_living_children_are_found() -> None:
    command = CHILD.format("import time\ntime.sleep(60)") + READY + "child.kill()\nchild.wait()\n"
    with family(command) as process:
        assert len(ProcessTree().read([process.pid]).pids) == 2
        assert len(children_of(process.pid)) == 1


def test_waiting_for_a_core_is_seen() -> None:
    """Two processes that burn on one core wait for half of the time each."""
    core = min(os.sched_getaffinity(0))
    bind = f"import os\nos.sched_setaffinity(0, [{core}])\n"
    with family(bind + CHILD.format(BURN.format(0.4)) + READY + BURN.format(0.4)) as process:
        process.stdin.write("go\n")
        process.stdin.flush()
        tree, seen = ProcessTree(), 0.0
        for _ in range(20):
            seen = max(seen, tree.read([process.pid]).waited_s)
            time.sleep(0.03)
    assert 0.1 < seen < 2


def _hold(pages: mmap.mmap, ready: object, done: object) -> None:
    sum(pages[i] for i in range(0, len(pages), 4096))
    ready.set()  # type: ignore[attr-defined]
    done.wait()  # type: ignore[attr-defined]


def test_what_is_shared_counts_once_in_the_exact_figure() -> None:
    context = multiprocessing.get_context("fork")
    pages = mmap.mmap(-1, 64 * MIB)
    pages.write(b"x" * len(pages))
    before = unshared_bytes([os.getpid()])
    ready, done = context.Event(), context.Event()
    child = context.Process(target=_hold, args=(pages, ready, done))
    child.start()
    try:
        assert ready.wait(10)
        both = unshared_bytes([os.getpid(), child.pid or 0])
        sums = ProcessTree().read([os.getpid()]).anonymous_bytes
    finally:
        done.set()
        child.join()
    assert abs(both - before) < 40 * MIB
    assert sums > both + 40 * MIB
    assert unshared_bytes([2**22 + 1]) is None, "there is no such process"
