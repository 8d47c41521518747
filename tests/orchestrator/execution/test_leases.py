"""Leases of made-up cores, by locks in a folder of the test."""

import mmap
import os
import re
import signal
import struct
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import NoReturn, Protocol

import pytest

from orchestrator.execution import leases as policy
from orchestrator.execution.leases import DRIVER_FROM_CORES, CoreLeases, Lease, Place, trial_cores
from orchestrator.system.cgroup import Cgroups
from orchestrator.system.cores import Core
from orchestrator.trial import Isolation


def leases(folder: Path, count: int = 4) -> CoreLeases:
    return CoreLeases(folder, range(count), {core: Core(physical=core) for core in range(count)})


class Take(Protocol):
    def __call__(
        self, count: int, isolation: Isolation = ..., *, place: Place | None = ...
    ) -> Lease | None: ...


@pytest.fixture
def take(tmp_path: Path) -> Iterator[Take]:
    """Ask for cores as a new sweep; they are released at the end of the test."""
    taken: list[Lease] = []

    def take(
        count: int, isolation: Isolation = Isolation.LEASED, *, place: Place | None = None
    ) -> Lease | None:
        lease = leases(tmp_path).acquire(count, isolation, timeout_s=0, place=place)
        taken.extend([lease] if lease is not None else [])
        return lease

    yield take
    for lease in taken:
        lease.release()


def granted(lease: Lease | None) -> Lease:
    assert lease is not None
    return lease


def test_two_leases_never_share_a_core(take: Take) -> None:
    first, second = granted(take(2)), granted(take(2))
    assert (first.cores, second.cores) == ((0, 1), (2, 3))
    assert take(1) is None
    first.release()
    assert granted(take(1)).cores == (0,)


def test_nothing_is_kept_of_a_lease_that_was_not_granted(take: Take) -> None:
    take(2)
    assert take(3) is None
    assert take(2) is not None, "the two cores that were free are free again"


def test_an_exclusive_lease_admits_no_other(take: Take) -> None:
    isolated = granted(take(1, Isolation.EXCLUSIVE))
    assert take(1) is None
    isolated.release()
    assert take(1) is not None
    assert take(1, Isolation.EXCLUSIVE) is None, "nor is it granted with another"


def test_a_shared_lease_takes_no_core_from_others_and_waits_for_none(take: Take) -> None:
    leased, place = granted(take(4)), Place()
    assert take(1, Isolation.EXCLUSIVE, place=place) is None
    shared = granted(take(2, Isolation.SHARED))
    assert (shared.isolation, shared.note) == (Isolation.SHARED, "")
    leased.release()
    isolated = granted(take(1, Isolation.EXCLUSIVE, place=place))
    without = granted(take(2, Isolation.SHARED))
    assert "the whole node is held by" in without.note
    isolated.release()
    assert take(1, Isolation.EXCLUSIVE) is not None, "the other has no lock"


def test_a_sweep_that_waits_for_the_node_admits_no_newcomer(take: Take, tmp_path: Path) -> None:
    waiting = os.fork()  # before there is a lease: it would share its descriptors
    if waiting == 0:
        while not (tmp_path / "core-0.lock").exists():
            time.sleep(0.01)
        got = leases(tmp_path).acquire(1, Isolation.EXCLUSIVE, timeout_s=20)
        os._exit(0 if got is not None else 1)
    running = granted(take(1))
    deadline = time.monotonic() + 20
    while (early := take(1)) is not None:
        early.release()
        assert time.monotonic() < deadline, "no process waits for the node"
        time.sleep(0.01)
    assert leases(tmp_path).acquire(1, Isolation.LEASED, timeout_s=0.2) is None
    running.release()
    assert os.waitpid(waiting, 0)[1] == 0


@pytest.mark.parametrize(("count", "isolation"), [(1, Isolation.EXCLUSIVE), (4, Isolation.LEASED)])
def test_place_is_kept_from_one_call_to_next(take: Take, count: int, isolation: Isolation) -> None:
    running, place = granted(take(1)), Place()
    assert take(count, isolation, place=place) is None
    assert take(1) is None, "it came later"
    running.release()
    assert take(count, isolation, place=place) is not None


def test_processes_are_served_in_the_order_in_which_they_came(take: Take, tmp_path: Path) -> None:
    """Five wait and one of them is killed; each of the others ends as soon as it is served."""
    go, queued, served = [os.pipe() for _ in range(5)], os.pipe(), os.pipe()

    def wait(number: int) -> NoReturn:
        os.read(go[number][0], 1)
        place, of_child = Place(), leases(tmp_path)
        assert of_child.acquire(3, Isolation.LEASED, timeout_s=0, place=place) is None
        os.write(queued[1], b"q")
        assert of_child.acquire(3, Isolation.LEASED, timeout_s=20, place=place) is not None
        os.write(served[1], str(number).encode())
        os._exit(0)

    # Before there is a lease: they would share its descriptors.
    children = [_forked(partial(wait, number)) for number in range(5)]
    running = granted(take(2))
    order = (3, 0, 4, 2, 1)
    for number in order:
        os.write(go[number][1], b"g")
        os.read(queued[0], 1)
    os.kill(children[4], signal.SIGKILL)
    running.release()
    ends = [os.waitpid(child, 0)[1] for child in children]
    assert ends == [0, 0, 0, 0, signal.SIGKILL]
    assert os.read(served[0], 9) == b"3021"


def test_a_place_that_was_left_is_free(take: Take) -> None:
    take(1)
    place = Place()
    assert take(1, Isolation.EXCLUSIVE, place=place) is None
    place.leave()
    assert take(1) is not None


@pytest.mark.parametrize("folder", ["/sys/sweep-cores", "{file}/locks", "/proc/sweep-cores"])
def test_a_folder_that_cannot_be_written_means_shared(tmp_path: Path, folder: str) -> None:
    (tmp_path / "file").touch()
    path = Path(folder.format(file=tmp_path / "file"))
    lease = granted(leases(path).acquire(2, Isolation.LEASED, timeout_s=0))
    assert lease.isolation is Isolation.SHARED
    assert lease.note.startswith("cores cannot be leased: ")
    assert str(path) in lease.note
    asked_shared = granted(leases(path).acquire(2, Isolation.SHARED, timeout_s=0))
    assert asked_shared.note == ""


def test_leases_of_others_are_counted(take: Take, tmp_path: Path) -> None:
    mine = granted(take(1))
    assert leases(tmp_path).num_others(mine) == 0
    theirs = granted(take(2))
    assert leases(tmp_path).num_others(mine) == 2
    theirs.release()
    assert leases(tmp_path).num_others(mine) == 0


def test_what_is_waited_for_is_named_with_its_holder(take: Take, tmp_path: Path) -> None:
    unknown = "2 cores of this node, held by another sweep: wait for its end, or end it"
    leases = CoreLeases(tmp_path, cores=range(2))
    assert leases.what_for(2) == unknown
    assert take(1) is not None
    assert leases.what_for(2) == unknown, "this process does not wait for itself"
    child = os.fork()
    if child == 0:
        holder = rf"`.+` \(process {os.getppid()}, started \w+ \d\d \d\d:\d\d, cores 0\): wait for"
        os._exit(0 if re.search(holder, leases.what_for(1)) else 1)
    assert os.waitpid(child, 0)[1] == 0


def test_others_are_not_known_where_nothing_is_leased(take: Take, tmp_path: Path) -> None:
    own, shared = granted(take(1)), granted(take(1, Isolation.SHARED))
    assert leases(tmp_path).num_others(shared) is None
    assert leases(tmp_path / "another folder").num_others(own) is None


def test_under_a_quota_leases_are_of_any_cores_and_no_more_than_it_pays_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two control groups of one host, each with a quota of two of its eight cores."""
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(8)))
    monkeypatch.setattr(os, "sched_setaffinity", lambda *_: None)
    monkeypatch.setattr(Cgroups, "cpu_quota", lambda _: 2.0)
    both = [granted(CoreLeases(tmp_path).acquire(64, Isolation.LEASED, timeout_s=0)) for _ in "ab"]
    assert [len(lease.cores) for lease in both] == [2, 2]
    assert len({core for lease in both for core in lease.cores}) == 4
    assert CoreLeases(tmp_path).num_cores == 2
    for lease in both:
        lease.release()


NUM_CORES, NUM_AT_A_TIME, NUM_HOLDERS = 4, 8, 40


def test_holders_that_are_killed_never_have_one_core_between_two(tmp_path: Path) -> None:
    """A holder writes its id to the place of each of its cores, and may find no other id there."""
    board = mmap.mmap(-1, 4 * (NUM_CORES + 2 * NUM_HOLDERS))
    running: set[int] = set()
    for holder in range(NUM_HOLDERS):
        if len(running) == NUM_AT_A_TIME:
            running.remove(_killed(running))
        running.add(_forked(partial(_lease_and_die, tmp_path, board, holder)))
    while running:
        running.remove(_killed(running))
    numbers = struct.unpack(f"{NUM_CORES + 2 * NUM_HOLDERS}i", board[:])
    assert numbers[:NUM_CORES] == (0,) * NUM_CORES
    assert sum(numbers[NUM_CORES + NUM_HOLDERS :]) == 0, "times that a core was another's"
    assert sum(numbers[NUM_CORES:]) == NUM_HOLDERS, "all were given their cores in time"
    everything = granted(leases(tmp_path).acquire(NUM_CORES, Isolation.LEASED, timeout_s=0))
    everything.release()


def _lease_and_die(folder: Path, board: mmap.mmap, holder: int) -> NoReturn:
    lease = leases(folder, NUM_CORES).acquire(1 + holder % 3, Isolation.LEASED, timeout_s=60)
    struct.pack_into("i", board, 4 * (NUM_CORES + holder), 1)
    conflicts = _exchange(board, lease.cores, 0, os.getpid())
    time.sleep(0.002)
    conflicts += _exchange(board, lease.cores, os.getpid(), 0)
    struct.pack_into("i", board, 4 * (NUM_CORES + NUM_HOLDERS + holder), conflicts)
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError("not reached")


def _exchange(board: mmap.mmap, cores: Sequence[int], before: int, after: int) -> int:
    """Write ``after`` to each core's place; return how many did not contain ``before``."""
    conflicts = 0
    for core in cores:
        conflicts += struct.unpack_from("i", board, 4 * core)[0] != before
        struct.pack_into("i", board, 4 * core, after)
    return conflicts


def _forked(run: Callable[[], NoReturn]) -> int:
    """Run in a forked process, which ends there whatever happens; return its id."""
    process = os.fork()
    if process:
        return process
    with suppress(BaseException):
        run()
    os._exit(1)


def _killed(running: set[int]) -> int:
    """Wait for a holder, which died while it had its cores."""
    process, status = os.wait()
    assert process in running
    assert os.WIFSIGNALED(status)
    return process


def on_node(monkeypatch: pytest.MonkeyPatch, usable: tuple[int, ...], num_physical: int) -> None:
    """Make up a node. Linux numbers the first hardware threads of all cores before the second."""
    topology = {core: Core(physical=core % num_physical) for core in usable}
    monkeypatch.setattr(policy, "usable_cores", lambda: usable)
    monkeypatch.setattr(policy, "read_topology", lambda _: topology)


@pytest.mark.parametrize("num_cores", [1, 2, 3, 4, 16])
def test_one_core_is_kept_for_the_driver_where_there_are_enough(
    monkeypatch: pytest.MonkeyPatch, num_cores: int
) -> None:
    usable = tuple(range(num_cores))
    on_node(monkeypatch, usable, num_physical=num_cores)
    num_kept = 1 if num_cores >= DRIVER_FROM_CORES else 0
    assert trial_cores() == usable[: num_cores - num_kept]


@pytest.mark.parametrize("num_physical", [4, 8])
def test_both_threads_of_the_drivers_core_are_kept(
    monkeypatch: pytest.MonkeyPatch, num_physical: int
) -> None:
    usable = tuple(range(2 * num_physical))
    on_node(monkeypatch, usable, num_physical)
    kept = set(usable) - set(trial_cores())
    assert len(kept) == 2
    assert len({core % num_physical for core in kept}) == 1
