"""A trial with too much memory is ended, says how much and where, and takes no other with it."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from orchestrator.execution.leases import CoreLeases
from orchestrator.execution.process.fork_client import ForkServers
from orchestrator.execution.supervision import attempt
from orchestrator.execution.supervision.memory_guard import (
    READ_AGAIN_S,
    MemoryGuard,
    MemoryLimit,
    limit_of_trial,
)
from orchestrator.system.cgroup import Cgroups
from orchestrator.system.memory import node_bytes
from orchestrator.system.processes import ProcessTree, TreeSample
from orchestrator.trial import Isolation, TrialState
from tests.orchestrator.execution.supervised import Course, launch_of, run

GIB = 2**30


def node(folder: Path, total_gib: float, limit_gib: float | None = None) -> int | None:
    (folder / "meminfo").write_text(f"MemTotal: {int(total_gib * 2**20)} kB\nMemFree: 5 kB\n")
    (folder / "membership").write_text("0::/job\n")
    (folder / "job").mkdir()
    limit = "max" if limit_gib is None else str(int(limit_gib * GIB))
    (folder / "job/memory.max").write_text(limit + "\n")
    groups = Cgroups(mount=folder, membership=folder / "membership")
    return node_bytes(folder / "meminfo", groups)


@pytest.mark.parametrize(("limit_gib", "expected"), [(None, 16), (8, 8), (64, 16)])
def test_the_least_of_node_and_cgroup_counts(
    tmp_path: Path, limit_gib: float | None, expected: float
) -> None:
    assert node(tmp_path, 16, limit_gib) == expected * GIB


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
done, told = os.pipe()
for _ in range(4):
    if os.fork() == 0:
        os.close(theirs)
        os.read(ours, 1)
        for page in range(0, len(pages), 4096):
            pages[page] = 1
        os.write(told, b"x")
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


def test_one_trial_out_of_memory_takes_no_other_with_it(
    servers: ForkServers, tmp_path: Path
) -> None:
    """Two at once: one eats until the guard ends it, the other goes on to its end."""
    courses: dict[str, Course] = {}

    def go(name: str, **values: object) -> None:
        launch = launch_of(
            tmp_path, name, isolation=Isolation.SHARED, retries=1, memory_limit_gib=0.75, **values
        )
        courses[name] = run(launch, servers, CoreLeases(tmp_path / "locks"))

    eater = threading.Thread(target=go, args=("eater",), kwargs={"act": "eat"})
    eater.start()
    go("other", duration_s=3.0)
    eater.join()

    result = courses["eater"].result
    assert result.state is TrialState.INFEASIBLE
    assert result.tags["attempts"] == "1", "it is not tried again"
    assert "out of memory at step " in result.reason
    assert "GiB of its own, above the trial's limit of 0.75 GiB (what the sweep gives" in (
        result.reason
    )
    assert 0.75 <= result.metrics["peak_rss_gib"] < 4
    assert result.metrics["steps"] > 3, "what it had measured by then is kept"
    assert courses["other"].result.state is TrialState.COMPLETED


def test_a_trial_that_nobody_asked_to_leave_is_not_waited_for(
    servers: ForkServers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(attempt, "STOP_GRACE_S", 30.0)
    launch = launch_of(tmp_path, duration_s=100, isolation=Isolation.SHARED, time_limit_s=1.0)
    began = time.monotonic()
    result = run(launch, servers, CoreLeases(tmp_path / "locks")).result
    assert result.state is TrialState.INFEASIBLE
    assert "time limit of 1 s" in result.reason
    assert time.monotonic() - began < 20


@pytest.mark.parametrize(
    ("act", "said"),
    [
        ("refused", ["out of memory at step 4, 7.5 GiB asked for", "MemoryError"]),
        ("eat_at_once", ["out of memory at step 4, 1048576.00 GiB asked for", "RuntimeError"]),
    ],
)
def test_memory_that_is_not_to_be_had_says_how_much_and_where(
    servers: ForkServers, tmp_path: Path, act: str, said: list[str]
) -> None:
    launch = launch_of(tmp_path, act=act, isolation=Isolation.SHARED, retries=1)
    result = run(launch, servers, CoreLeases(tmp_path / "locks")).result
    assert result.state is TrialState.INFEASIBLE
    assert result.tags["attempts"] == "1"
    for text in said:
        assert text in result.reason
