import os
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest

from orchestrator.execution.leases import CoreLeases, Lease
from orchestrator.execution.supervision import attempt_monitor
from orchestrator.execution.supervision.attempt_monitor import (
    READ_AGAIN_S,
    STALL_LIMIT_S,
    AttemptMonitor,
    OwnOverhead,
    Progress,
)
from orchestrator.execution.telemetry.sampler import Telemetry
from orchestrator.kernel.executor import Rank
from orchestrator.system.processes import ProcessTree, TreeSample
from orchestrator.trial import Isolation
from tests.helping import awaited
from tests.orchestrator.execution.supervised import launch_of
from tests.orchestrator.helpers.families import BURN, CHILD, family

PIDS = [os.getpid()]
GIB = 2**30


class Clock:
    now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


@pytest.fixture
def now(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """The time of both system clocks, to be set."""
    now = SimpleNamespace(s=100.0)
    clocks = SimpleNamespace(monotonic=lambda: now.s, time=lambda: now.s + 1e9)
    monkeypatch.setattr(attempt_monitor, "time", clocks)
    return now


def monitor(
    folder: Path, clock: Clock, isolation: Isolation = Isolation.LEASED, **settings: object
) -> AttemptMonitor:
    """A monitor of this very process, as of a trial on the first two of four cores."""
    lease = Lease(cores=(0, 1), isolation=isolation)
    return AttemptMonitor(
        launch_of(folder, **settings),
        [Rank(cores=lease.cores if isolation is not Isolation.SHARED else ())],
        lease,
        CoreLeases(folder / "locks", range(4), {}),
        clock,
    )


def test_the_time_limit_counts_from_the_start(tmp_path: Path) -> None:
    clock = Clock()
    clock.now_s = 5.0  # of an earlier attempt
    made = monitor(tmp_path, clock, time_limit_s=10.0)
    clock.now_s = 15.0
    assert made.overdue() == ""
    clock.now_s = 15.1
    assert made.overdue() == "took longer than its time limit of 10 s"


@pytest.mark.parametrize(
    ("memory_gib", "isolation", "limit"),
    [
        (None, Isolation.LEASED, "9.00 GiB (90% of 20.0 GiB, its share: 2 of 4 cores)"),
        (None, Isolation.EXCLUSIVE, "18.00 GiB (90% of 20.0 GiB, the node)"),
        (1.5, Isolation.LEASED, "1.50 GiB (what the sweep gives a trial)"),
    ],
)
def test_memory_over_the_limit_is_explained(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    memory_gib: float | None,
    isolation: Isolation,
    limit: str,
) -> None:
    monkeypatch.setattr(attempt_monitor, "node_bytes", lambda: 20 * GIB)
    monkeypatch.setattr(attempt_monitor, "unshared_bytes", lambda *_: 19 * GIB)
    sample = TreeSample(pids=(1,), anonymous_bytes=19 * GIB)
    monkeypatch.setattr(Telemetry, "sample", lambda *_, **__: sample)
    made = monitor(tmp_path, Clock(), isolation, memory_gib=memory_gib)
    assert made.excess(PIDS) == f"19.00 GiB of its own, above the trial's limit of {limit}"


def test_the_exact_memory_is_read_only_where_it_may_matter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, now: SimpleNamespace
) -> None:
    read: list[tuple[int, ...]] = []

    def exact(pids: tuple[int, ...], _in_files: int) -> int:
        read.append(pids)
        return 6 * GIB

    monkeypatch.setattr(attempt_monitor, "unshared_bytes", exact)
    sums = iter([9, 12, 13, 9, 14])
    monkeypatch.setattr(
        Telemetry,
        "sample",
        lambda *_, **__: TreeSample(pids=(1, 2), anonymous_bytes=next(sums) * GIB),
    )
    made = monitor(tmp_path, Clock(), memory_gib=10.0)
    assert made.excess(PIDS) == ""
    assert read == []
    assert made.excess(PIDS) == "", "shared pages count twice in the sum, once in the exact figure"
    assert made.excess(PIDS) == ""
    assert len(read) == 1
    now.s += READ_AGAIN_S
    assert made.excess(PIDS) == ""
    assert len(read) == 1
    assert made.excess(PIDS) == "", "it may have grown where the sum has not"
    assert len(read) == 2


def test_files_in_shared_memory_are_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Telemetry, "sample", lambda *_, **__: TreeSample(pids=tuple(PIDS)))
    made = monitor(tmp_path, Clock(), memory_gib=5.0)
    assert made.excess(PIDS) == ""
    made.telemetry.shared.num_bytes = 6 * GIB
    assert "GiB of its own, above the trial's limit of 5.00 GiB" in made.excess(PIDS)


def test_a_trial_that_leaves_no_room_on_the_disk_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, room = monitor(tmp_path, Clock()), SimpleNamespace(f_bavail=10**9, f_frsize=4096)
    monkeypatch.setattr(os, "statvfs", lambda _: room)
    monkeypatch.setattr(attempt_monitor, "LEAST_ROOM", 2**20)
    assert made.fills_disk() == "", "it has not made its folder yet"
    own = tmp_path / "scratch/tmp/trial/file"
    own.parent.mkdir(parents=True)
    own.write_bytes(os.urandom(2**21))
    assert made.fills_disk() == "", "there is room"
    room.f_bavail = 1
    assert made.fills_disk() == "out of disk: 0.00 GiB in its $TMPDIR, which leaves 0.00 GiB"
    own.unlink()
    assert made.fills_disk() == "", "others have taken it"


def test_tags_name_the_cores(tmp_path: Path) -> None:
    bound, unbound = monitor(tmp_path, Clock()), monitor(tmp_path, Clock(), Isolation.SHARED)
    assert bound.tags()["core_ids"] == "0-1"
    assert "core_ids" not in unbound.tags()


@pytest.mark.parametrize(("num_usable", "expected"), [(2, 1.0), (3, 2 / 3), (4, None)])
def test_the_overhead_of_the_sweep_is_divided_among_the_cores(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, num_usable: int, expected: float | None
) -> None:
    """From four cores on, one is reserved for the driver, so its time is not on trials' cores."""
    overhead: dict[str, float] = {}

    class Spy:
        def __init__(self, *, overhead_s: object, **_: object) -> None:
            overhead["s"] = overhead_s()

    monkeypatch.setattr(attempt_monitor, "Telemetry", Spy)
    monkeypatch.setattr(attempt_monitor, "usable_cores", lambda: tuple(range(num_usable)))
    monkeypatch.setattr(OwnOverhead, "cpu_s", lambda _: 1.0)
    monitor(tmp_path, Clock())
    assert overhead["s"] == pytest.approx(expected or 0.0)


def test_the_clock_stands_still_while_paused_and_starts_once(now: SimpleNamespace) -> None:
    clock = Progress()
    clock.start()
    now.s += 1
    clock.pause()
    now.s += 10
    assert clock.now() == 1.0
    clock.start()
    clock.start()
    now.s += 2
    assert (clock.now(), clock.began_at) == (3.0, 1e9 + 100)


def test_a_process_is_stuck_after_a_limit_in_which_it_did_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock()
    made = monitor(tmp_path, clock)
    clock.now_s = STALL_LIMIT_S
    assert made.stalled() == ""
    monkeypatch.setattr(Telemetry, "sample", lambda *_, **__: TreeSample(cpu_s=1000.0))
    made.excess(PIDS)
    clock.now_s = STALL_LIMIT_S + 1
    assert made.stalled() == ""
    clock.now_s = 2 * STALL_LIMIT_S
    assert made.stalled() == ""
    clock.now_s = 2 * STALL_LIMIT_S + 3
    assert made.stalled() != "", "what it did in the first hour does not count in the second"


# -- the sweep's own load


def test_trials_and_other_processes_of_the_driver_are_no_overhead() -> None:
    """A driver with a fork server and another process below it, each with a child that burns."""
    burner = CHILD.format(BURN.format(0.3)) + "child.wait()\nprint('ready', flush=True)\ninput()\n"
    driver = (
        "import subprocess, sys\n"
        f"command, server = {burner!r}, 'orchestrator.execution.process.forkserver'\n"
        "pipes = dict(stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)\n"
        "started = [subprocess.Popen([sys.executable, '-c', command, name], **pipes)\n"
        "           for name in (server, 'another')]\n"
        "for process in started: process.stdout.readline()\n"
        "print('ready', flush=True)\n"
        "input()\n"
        "for process in started: process.communicate('end')\n"
    )
    with family(driver) as process:
        assert OwnOverhead(process.pid).cpu_s() < 0.25
        assert ProcessTree().read([process.pid]).cpu_s >= 0.6
    assert OwnOverhead(os.getpid()).cpu_s() > 0


def test_a_real_fork_server_is_overhead() -> None:
    """The module in its command line identifies the server; no checker of imports sees that."""
    driver = (
        "from orchestrator.execution.process.fork_servers import ForkServers\n"
        "servers = ForkServers()\n"
        "servers.socket_for('default', ('numpy',))\n"
        "print('ready', flush=True)\n"
        "input()\n"
        "servers.close()\n"
    )
    with family(driver) as process:
        (server,) = psutil.Process(process.pid).children()
        awaited(lambda: _cpu_s(server) > 0.05, "it imports")
        own, of_server = _cpu_s(psutil.Process(process.pid)), _cpu_s(server)
        assert OwnOverhead(process.pid).cpu_s() >= own + of_server - 1e-9  # sums of hundredths


def _cpu_s(process: psutil.Process) -> float:
    times = process.cpu_times()
    return float(times.user + times.system)
