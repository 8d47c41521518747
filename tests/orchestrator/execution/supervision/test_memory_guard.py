"""The limit of a trial's memory, and when the exact figure is read."""

from __future__ import annotations

import subprocess
import sys

import pytest

from orchestrator.execution.supervision.memory_guard import (
    READ_AGAIN_S,
    MemoryGuard,
    MemoryLimit,
    limit_of_trial,
)
from orchestrator.system.processes import ProcessTree, TreeSample

GIB = 2**30


def test_a_trial_has_its_share_by_cores_unless_it_is_given_another(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(
        "orchestrator.execution.supervision.memory_guard.node_bytes", lambda: 20 * GIB
    )
    quarter = limit_of_trial(None, num_cores=1, node_cores=4, isolated=False)
    isolated = limit_of_trial(None, num_cores=1, node_cores=4, isolated=True)
    given = limit_of_trial(1.5, num_cores=1, node_cores=4, isolated=False)
    assert quarter == MemoryLimit(
        num_bytes=int(4.5 * GIB), basis="90% of 20.0 GiB, its share: 1 of 4 cores"
    )
    assert isolated is not None
    assert isolated.num_bytes == 18 * GIB
    assert given is not None
    assert given.num_bytes == 1.5 * GIB


def test_the_exact_figure_is_read_only_where_it_may_matter() -> None:
    read: list[tuple[int, ...]] = []

    def exact(pids: object) -> int:
        read.append(tuple(pids))  # type: ignore[arg-type]
        return 6 * GIB

    now = 0.0
    guard = MemoryGuard(MemoryLimit(num_bytes=10 * GIB, basis=""), exact, lambda: now)

    def seen(gib: float) -> int | None:
        return guard.exceeded(TreeSample(pids=(1, 2), anonymous_bytes=int(gib * GIB)))

    assert seen(9) is None
    assert read == []
    assert seen(12) is None, "shared pages count twice in the sum, once in the exact figure"
    assert seen(13) is None
    assert len(read) == 1
    assert seen(14.5) is None
    assert len(read) == 2
    now = READ_AGAIN_S
    assert seen(9) is None
    assert len(read) == 2
    assert seen(14) is None, "it may have grown where the sum has not"
    assert len(read) == 3
    assert MemoryGuard(None).exceeded(TreeSample(anonymous_bytes=10**15)) is None


SHARERS = """
import os, time
pages = bytearray(100 * 2**20)
ours, theirs = os.pipe()
done, written = os.pipe()
for _ in range(4):
    if os.fork() == 0:
        os.close(theirs)
        os.read(ours, 1)
        for page in range(0, len(pages), 4096):
            pages[page] = 1
        os.write(written, b"x")
        time.sleep(60)
        os._exit(0)
print("ready", flush=True)
input()
os.write(theirs, b"goes")
for _ in range(4):
    os.read(done, 1)
print("written", flush=True)
input()
os.killpg(0, 9)
"""


def test_children_that_write_on_what_they_shared_are_seen() -> None:
    now = 0.0
    guard = MemoryGuard(MemoryLimit(num_bytes=200 * 2**20, basis=""), clock=lambda: now)
    with subprocess.Popen(
        [sys.executable, "-c", SHARERS],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as parent:
        assert parent.stdin is not None
        assert parent.stdout is not None
        assert parent.stdout.readline() == "ready\n"
        tree = ProcessTree()
        before = tree.read([parent.pid])
        assert guard.exceeded(before) is None
        parent.stdin.write("go\n")
        parent.stdin.flush()
        assert parent.stdout.readline() == "written\n"
        after = tree.read([parent.pid])
        now = READ_AGAIN_S
        exceeded = guard.exceeded(after)
        parent.stdin.write("end\n")
    assert len(before.pids) == 5
    assert after.anonymous_bytes < 1.1 * before.anonymous_bytes, "the sum tells nothing"
    assert exceeded is not None
    assert exceeded > 450 * 2**20
