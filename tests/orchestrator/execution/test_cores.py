from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from orchestrator.execution.cores import CoreLeases, cpu_quota
from orchestrator.sweep import Isolation

HOLDER = """
import sys, time, pathlib, json, random
from orchestrator.execution.cores import CoreLeases
from orchestrator.sweep import Isolation
folder, count, seed, log = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
rng = random.Random(seed)
leases = CoreLeases(pathlib.Path(folder), cores=range(4))
while True:
    lease = leases.acquire(count, Isolation.LEASED, timeout_s=30)
    with open(log, "a") as file:
        file.write(json.dumps(["take", seed, lease.cores, time.monotonic()]) + "\\n")
    time.sleep(rng.uniform(0.001, 0.01))
    if rng.random() < 0.3:
        import os
        with open(log, "a") as file:
            file.write(json.dumps(["give", seed, lease.cores, time.monotonic()]) + "\\n")
        os.kill(os.getpid(), 9)
    with open(log, "a") as file:
        file.write(json.dumps(["give", seed, lease.cores, time.monotonic()]) + "\\n")
    lease.release()
"""


def leases(folder: Path, count: int = 4) -> CoreLeases:
    return CoreLeases(folder, cores=range(count))


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
    alone = leases(tmp_path).acquire(1, Isolation.EXCLUSIVE, timeout_s=0)
    assert alone is not None
    assert leases(tmp_path).acquire(1, Isolation.LEASED, timeout_s=0) is None
    alone.release()
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


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_cannot_be_written_means_shared(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    lease = leases(tmp_path / "locks").acquire(2, Isolation.LEASED, timeout_s=0)
    assert lease is not None
    assert lease.isolation is Isolation.SHARED
    assert "cannot be leased" in lease.note


def test_dying_holders_never_give_one_core_to_two(tmp_path: Path) -> None:
    log = tmp_path / "log"
    deadline = time.monotonic() + 6
    holders: dict[int, subprocess.Popen[bytes]] = {}
    next_seed, deaths = 0, 0
    while time.monotonic() < deadline:
        for seed, holder in list(holders.items()):
            if holder.poll() is not None:
                del holders[seed]
                deaths += 1
        while len(holders) < 5:
            command = [
                sys.executable,
                "-c",
                HOLDER,
                str(tmp_path / "locks"),
                str(next_seed % 2 + 1),
                str(next_seed),
                str(log),
            ]
            holders[next_seed] = subprocess.Popen(command)
            next_seed += 1
        time.sleep(0.02)
    for holder in holders.values():
        holder.kill()
        holder.wait()
    held: dict[int, int] = {}
    events = [json.loads(line) for line in log.read_text().splitlines()]
    killed = set(holders)
    for kind, seed, cores, _ in events:
        for core in cores:
            if kind == "take":
                assert held.get(core, seed) == seed or held[core] in killed, (core, held)
                held[core] = seed
            else:
                held.pop(core, None)
    assert deaths >= 5, "holders did die while others took over"
    assert len(events) > 50


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"cpu.max": "max 100000"}, None),
        ({"cpu.max": "150000 100000"}, 1.5),
        ({"cpu/cpu.cfs_quota_us": "-1", "cpu/cpu.cfs_period_us": "100000"}, None),
        ({"cpu/cpu.cfs_quota_us": "200000", "cpu/cpu.cfs_period_us": "100000"}, 2.0),
        ({}, None),
    ],
)
def test_reads_the_quota_of_a_cgroup(
    tmp_path: Path, files: dict[str, str], expected: float | None
) -> None:
    for name, content in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(content + "\n")
    assert cpu_quota(tmp_path) == expected
