from __future__ import annotations

import mmap
import os
import signal
import struct
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import NoReturn

import pytest

from orchestrator.execution import leases as cores
from orchestrator.execution.core_policy import DRIVER_FROM_CORES, trial_cores
from orchestrator.execution.leases import CoreLeases, Place
from orchestrator.system.topology import Core
from orchestrator.trial import Isolation


def leases(folder: Path, count: int = 4) -> CoreLeases:
    return CoreLeases(folder, range(count), {core: Core(physical=core) for core in range(count)})


def test_two_leases_never_share_a_core(tmp_path: Path) -> None:
    first = leases(tmp_path).acquire(2, Isolation.LEASED, timeout_s=0)
    second = leases(tmp_path).acquire(2, Isolation.LEASED, timeout_s=0)
    assert first is not None
    assert second is not None
    assert (first.cores, second.cores) == ((0, 1), (2, 3))
    assert leases(tmp_path).acquire(1, Isolation.LEASED, timeout_s=0.05) is None
    first.release()
    third = leases(tmp_path).acquire(1, Isolation.LEASED, timeout_s=0)
    assert third is not None
    assert third.cores == (0,)
    third.release()
    second.release()


def test_nothing_is_kept_of_a_lease_that_was_not_granted(tmp_path: Path) -> None:
    first = leases(tmp_path).acquire(2, Isolation.LEASED, timeout_s=0)
    assert leases(tmp_path).acquire(3, Isolation.LEASED, timeout_s=0) is None
    second = leases(tmp_path).acquire(2, Isolation.LEASED, timeout_s=0)
    assert first is not None
    assert second is not None, "the two cores that were free are free again"
    first.release()
    second.release()


def test_exclusive_is_alone(tmp_path: Path) -> None:
    isolated = leases(tmp_path).acquire(1, Isolation.EXCLUSIVE, timeout_s=0)
    assert isolated is not None
    assert leases(tmp_path).acquire(1, Isolation.LEASED, timeout_s=0) is None
    isolated.release()
    beside = leases(tmp_path).acquire(1, Isolation.LEASED, timeout_s=0)
    assert beside is not None
    assert leases(tmp_path).acquire(1, Isolation.EXCLUSIVE, timeout_s=0) is None
    beside.release()


def test_more_cores_than_there_are_means_all_of_them(tmp_path: Path) -> None:
    lease = leases(tmp_path).acquire(99, Isolation.LEASED, timeout_s=0)
    assert lease is not None
    assert lease.cores == (0, 1, 2, 3)
    lease.release()


def test_shared_leases_nothing(tmp_path: Path) -> None:
    held = leases(tmp_path).acquire(4, Isolation.LEASED, timeout_s=0)
    lease = leases(tmp_path).acquire(2, Isolation.SHARED, timeout_s=0)
    assert held is not None
    assert lease is not None
    assert lease.isolation is Isolation.SHARED
    held.release()


def test_who_wants_the_node_alone_is_not_kept_waiting_by_newcomers(tmp_path: Path) -> None:
    waiting = os.fork()  # before there is a lease, whose descriptors it would share
    if waiting == 0:
        while not (tmp_path / "core-0.lock").exists():
            time.sleep(0.01)
        got = leases(tmp_path).acquire(1, Isolation.EXCLUSIVE, timeout_s=20)
        os._exit(0 if got is not None else 1)
    held = leases(tmp_path).acquire(1, Isolation.LEASED, timeout_s=0)
    assert held is not None
    deadline = time.monotonic() + 20
    while (early := leases(tmp_path).acquire(1, Isolation.LEASED, timeout_s=0)) is not None:
        early.release()
        assert time.monotonic() < deadline, "nobody waits for the node"
        time.sleep(0.01)
    assert leases(tmp_path).acquire(1, Isolation.LEASED, timeout_s=0.3) is None
    held.release()
    assert os.waitpid(waiting, 0)[1] == 0


def test_who_wants_the_node_alone_keeps_its_place_between_calls(tmp_path: Path) -> None:
    held = leases(tmp_path).acquire(1, Isolation.LEASED, timeout_s=0)
    assert held is not None
    waiting, place = leases(tmp_path), Place()
    assert waiting.acquire(1, Isolation.EXCLUSIVE, timeout_s=0, place=place) is None
    assert leases(tmp_path).acquire(1, Isolation.LEASED, timeout_s=0) is None, "it came later"
    place.leave()
    late = leases(tmp_path).acquire(1, Isolation.LEASED, timeout_s=0)
    assert late is not None, "nobody waits any more"
    late.release()
    assert waiting.acquire(1, Isolation.EXCLUSIVE, timeout_s=0, place=place) is None
    held.release()
    got = waiting.acquire(1, Isolation.EXCLUSIVE, timeout_s=0, place=place)
    assert got is not None
    got.release()


def test_shared_waits_for_who_is_alone_on_the_node(tmp_path: Path) -> None:
    isolated = leases(tmp_path).acquire(1, Isolation.EXCLUSIVE, timeout_s=0)
    assert isolated is not None
    assert leases(tmp_path).acquire(1, Isolation.SHARED, timeout_s=0) is None
    isolated.release()


@pytest.mark.parametrize("folder", ["/sys/sweep-cores", "{file}/locks", "/proc/sweep-cores"])
def test_a_folder_that_cannot_be_written_means_shared(tmp_path: Path, folder: str) -> None:
    (tmp_path / "file").touch()
    place = Path(folder.format(file=tmp_path / "file"))
    lease = leases(place).acquire(2, Isolation.LEASED, timeout_s=0)
    assert lease is not None
    assert lease.isolation is Isolation.SHARED
    assert "cannot be leased" in lease.note
    assert str(place) in lease.note
    asked_for_nothing = leases(place).acquire(2, Isolation.SHARED, timeout_s=0)
    assert asked_for_nothing is not None
    assert asked_for_nothing.note == ""


def test_others_on_the_node_are_counted(tmp_path: Path) -> None:
    mine = leases(tmp_path).acquire(1, Isolation.LEASED, timeout_s=0)
    assert mine is not None
    assert leases(tmp_path).num_others(mine) == 0
    theirs = leases(tmp_path).acquire(2, Isolation.LEASED, timeout_s=0)
    assert theirs is not None
    assert leases(tmp_path).num_others(mine) == 2
    theirs.release()
    assert leases(tmp_path).num_others(mine) == 0
    mine.release()


def test_a_file_of_another_disk_is_not_taken_for_a_core_s(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    mine = leases(tmp_path).acquire(1, Isolation.LEASED, timeout_s=0)
    theirs = leases(tmp_path).acquire(1, Isolation.LEASED, timeout_s=0)
    assert mine is not None
    assert theirs is not None
    numbers = [(tmp_path / f"core-{core}.lock").stat().st_ino for core in range(4)]
    places = [f"fe:00:{numbers[0]}", f"fe:00:{numbers[1]}", f"00:1c:{numbers[2]}"]
    made_up = tmp_path / "locks"
    made_up.write_text(
        "".join(f"{n}: FLOCK  ADVISORY  WRITE 7 {place} 0 EOF\n" for n, place in enumerate(places))
    )
    monkeypatch.setattr(cores, "_LOCKS", made_up)
    assert leases(tmp_path).num_others(mine) == 1
    theirs.release()
    mine.release()


def test_others_are_not_known_where_nothing_is_leased(tmp_path: Path) -> None:
    held = leases(tmp_path).acquire(1, Isolation.LEASED, timeout_s=0)
    shared = leases(tmp_path).acquire(1, Isolation.SHARED, timeout_s=0)
    assert held is not None
    assert shared is not None
    assert leases(tmp_path).num_others(shared) is None
    assert leases(tmp_path / "another folder").num_others(held) is None
    held.release()


@pytest.mark.parametrize("usable", [(0, 1), (0, 1, 2), (0, 1, 2, 3), tuple(range(16))])
def test_one_core_is_kept_for_the_driver_where_there_are_enough(
    monkeypatch: pytest.MonkeyPatch, usable: tuple[int, ...]
) -> None:
    monkeypatch.setattr(cores, "usable_cores", lambda: usable)
    monkeypatch.setattr(cores, "read_topology", lambda some: {c: Core(physical=c) for c in some})
    kept = 1 if len(usable) >= DRIVER_FROM_CORES else 0
    assert trial_cores() == usable[: len(usable) - kept]


@pytest.mark.parametrize(("num_physical", "num_kept"), [(2, 1), (4, 2), (8, 2)])
def test_beside_the_driver_on_the_other_thread_of_its_core_there_is_no_trial(
    monkeypatch: pytest.MonkeyPatch, num_physical: int, num_kept: int
) -> None:
    usable = tuple(range(2 * num_physical))  # as Linux numbers them: first all first threads
    topology = {core: Core(physical=core % num_physical) for core in usable}
    monkeypatch.setattr(cores, "usable_cores", lambda: usable)
    monkeypatch.setattr(cores, "read_topology", lambda some: topology)
    kept = set(usable) - set(trial_cores())
    assert len(kept) == num_kept
    if num_kept == 2:
        assert len({topology[core].physical for core in kept}) == 1


def test_under_a_quota_leases_are_any_cores_and_no_more_than_it_pays_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two control groups of one host, each with a quota of two of its eight cores."""
    monkeypatch.setattr(cores.os, "sched_getaffinity", lambda _: set(range(8)))
    monkeypatch.setattr(cores.os, "sched_setaffinity", lambda *_: None)
    monkeypatch.setattr(cores.Cgroups, "cpu_quota", lambda _: 2.0)
    held = [CoreLeases(tmp_path).acquire(64, Isolation.LEASED, timeout_s=0.0) for _ in range(2)]
    assert [lease and len(lease.cores) for lease in held] == [2, 2]
    taken = [core for lease in held if lease for core in lease.cores]
    assert len(set(taken)) == 4
    assert CoreLeases(tmp_path).num_cores == 2
    for lease in held:
        assert lease is not None
        lease.release()


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < DRIVER_FROM_CORES, reason="needs 4 cores")
def test_nobody_is_given_the_core_that_is_kept(tmp_path: Path) -> None:
    everything = CoreLeases(tmp_path).acquire(4096, Isolation.LEASED, timeout_s=0)
    assert everything is not None
    assert everything.cores == trial_cores()
    everything.release()


NUM_CORES, NUM_AT_ONCE, NUM_CYCLES = 4, 8, 200


def test_200_who_lease_and_die_never_have_one_core_between_two(tmp_path: Path) -> None:
    """A holder writes its id beside each core that it has; nobody may find another's there."""
    board = mmap.mmap(-1, 4 * (NUM_CORES + 2 * NUM_CYCLES))
    running: set[int] = set()
    for cycle in range(NUM_CYCLES):
        if len(running) == NUM_AT_ONCE:
            running.remove(_dead(running))
        running.add(_forked(partial(_lease_and_die, tmp_path, board, cycle)))
    while running:
        running.remove(_dead(running))
    numbers = struct.unpack(f"{NUM_CORES + 2 * NUM_CYCLES}i", board[:])
    assert numbers[:NUM_CORES] == (0,) * NUM_CORES
    assert sum(numbers[NUM_CORES + NUM_CYCLES :]) == 0, "times that a core was another's"
    assert sum(numbers[NUM_CORES:]) == NUM_CYCLES, "all were given their cores in time"
    everything = leases(tmp_path).acquire(NUM_CORES, Isolation.LEASED, timeout_s=0)
    assert everything is not None, "the kernel has given back all that the dead had"
    everything.release()


def _lease_and_die(folder: Path, board: mmap.mmap, cycle: int) -> NoReturn:
    lease = leases(folder, NUM_CORES).acquire(1 + cycle % 3, Isolation.LEASED, timeout_s=60)
    assert lease is not None
    struct.pack_into("i", board, 4 * (NUM_CORES + cycle), 1)
    conflicts = _exchange(board, lease.cores, 0, os.getpid())
    time.sleep(0.002)
    conflicts += _exchange(board, lease.cores, os.getpid(), 0)
    struct.pack_into("i", board, 4 * (NUM_CORES + NUM_CYCLES + cycle), conflicts)
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError("not reached")


def _exchange(board: mmap.mmap, held: Sequence[int], before: int, after: int) -> int:
    """Writes ``after`` beside each core; returns beside how many ``before`` did not stand."""
    conflicts = 0
    for core in held:
        conflicts += struct.unpack_from("i", board, 4 * core)[0] != before
        struct.pack_into("i", board, 4 * core, after)
    return conflicts


def _forked(run: Callable[[], NoReturn]) -> int:
    """Runs in a forked process, which ends there whatever happens."""
    process = os.fork()
    if process:
        return process
    with suppress(BaseException):
        run()
    os._exit(1)


def _dead(running: set[int]) -> int:
    process, status = os.wait()
    assert process in running
    assert os.WIFSIGNALED(status), "it died while it held its cores"
    return process
