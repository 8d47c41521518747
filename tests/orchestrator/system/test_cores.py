"""Whole physical cores before hyper-threads, one NUMA node before two: on made-up machines."""

import os
from pathlib import Path

import pytest

from orchestrator.system.cgroup import Cgroups
from orchestrator.system.cores import (
    choose,
    numbers_in,
    read_topology,
    text_of,
    usable_cores,
    within_quota,
)


def machine(folder: Path, nodes: dict[int, list[list[int]]]) -> Path:
    """A ``/sys/devices/system`` with the threads of each physical core of each node."""
    for node, physical in nodes.items():
        place = folder / f"node/node{node}"
        place.mkdir(parents=True)
        threads = sorted(thread for siblings in physical for thread in siblings)
        (place / "cpulist").write_text(",".join(map(str, threads)) + "\n")
        for siblings in physical:
            for thread in siblings:
                topology = folder / f"cpu/cpu{thread}/topology"
                topology.mkdir(parents=True)
                (topology / "thread_siblings_list").write_text(",".join(map(str, siblings)) + "\n")
    return folder


FOUR_CORES_WITH_THREADS = {0: [[0, 4], [1, 5], [2, 6], [3, 7]]}
TWO_NODES = {0: [[0], [1], [2], [3]], 1: [[4], [5], [6], [7]]}
TWO_NODES_WITH_THREADS = {0: [[0, 4], [1, 5]], 1: [[2, 6], [3, 7]]}
UNEQUAL = {0: [[0, 1], [2, 3], [4], [5]]}


@pytest.mark.parametrize(
    ("nodes", "taken", "count", "expected"),
    [
        pytest.param(FOUR_CORES_WITH_THREADS, [], 2, (0, 4), id="both threads of one core"),
        pytest.param(FOUR_CORES_WITH_THREADS, [], 4, (0, 1, 4, 5), id="whole cores"),
        pytest.param(FOUR_CORES_WITH_THREADS, [0], 2, (1, 5), id="a split core is left alone"),
        pytest.param(FOUR_CORES_WITH_THREADS, [0], 1, (1,), id="a thread of a whole core first"),
        pytest.param(FOUR_CORES_WITH_THREADS, [0, 1, 2], 1, (3,), id="the last whole core"),
        pytest.param(FOUR_CORES_WITH_THREADS, [0, 1, 2, 3], 1, (4,), id="then hyper-threads"),
        pytest.param(FOUR_CORES_WITH_THREADS, [], 3, (0, 1, 4), id="one whole and one thread"),
        pytest.param(FOUR_CORES_WITH_THREADS, [0, 2], 3, (1, 3, 5), id="rest from whole ones"),
        pytest.param(FOUR_CORES_WITH_THREADS, [0, 2], 6, (1, 3, 4, 5, 6, 7), id="all that is left"),
        pytest.param(FOUR_CORES_WITH_THREADS, [0, 2], 7, None, id="too few"),
        pytest.param(TWO_NODES, [0, 1], 3, (4, 5, 6), id="the node that has as many"),
        pytest.param(TWO_NODES, [0, 1], 2, (2, 3), id="the node with less left over"),
        pytest.param(TWO_NODES, [0, 1], 5, (2, 4, 5, 6, 7), id="two only where one is too small"),
        pytest.param(TWO_NODES_WITH_THREADS, [0], 2, (1, 5), id="whole cores decide the node"),
        pytest.param(TWO_NODES_WITH_THREADS, [0, 1], 2, (2, 6), id="rather than split ones"),
        pytest.param(TWO_NODES_WITH_THREADS, [0, 5, 2, 7], 2, (1, 4), id="split but on one node"),
        pytest.param(UNEQUAL, [], 1, (4,), id="a core of one thread for one"),
        pytest.param(UNEQUAL, [], 3, (0, 1, 4), id="none is split that need not be"),
    ],
)
def test_chooses(
    tmp_path: Path,
    nodes: dict[int, list[list[int]]],
    taken: list[int],
    count: int,
    expected: tuple[int, ...] | None,
) -> None:
    cores = sorted(c for physical in nodes.values() for siblings in physical for c in siblings)
    topology = read_topology(cores, machine(tmp_path, nodes))
    free = [core for core in cores if core not in taken]
    assert choose(free, count, topology) == expected


def test_a_thread_that_may_not_be_used_splits_no_core(tmp_path: Path) -> None:
    topology = read_topology([0, 1, 5], machine(tmp_path, FOUR_CORES_WITH_THREADS))
    assert choose([0, 1, 5], 2, topology) == (1, 5)
    assert choose([0, 1, 5], 1, topology) == (0,)


def test_reads_the_kernel_lists() -> None:
    assert numbers_in("0-3,8,10-11\n") == [0, 1, 2, 3, 8, 10, 11]
    assert numbers_in("\n") == []
    with pytest.raises(ValueError, match="invalid literal"):
        numbers_in("zero")


@pytest.mark.parametrize("text", ["", "0", "0-1", "0-3,8,10-11", "1,3,5"])
def test_a_kernel_list_is_written_as_it_is_read(text: str) -> None:
    assert text_of(numbers_in(text)) == text


@pytest.mark.parametrize(
    ("quota", "num_cores"), [(None, 4), (9.0, 4), (4.0, 4), (2.9, 2), (1.5, 1), (0.5, 1)]
)
def test_no_more_cores_than_the_quota_pays_for(quota: float | None, num_cores: int) -> None:
    assert len(within_quota([2, 3, 4, 5], quota)) == num_cores


def test_usable_cores_are_those_of_the_affinity(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Cgroups, "cpu_quota", lambda _: None)
    assert set(usable_cores()) == os.sched_getaffinity(0)


@pytest.mark.parametrize(
    ("asked", "membership", "files", "expected"),
    [
        ("cpu_quota", "0::/\n", {"cpu.max": "max 100000"}, None),
        ("cpu_quota", "0::/\n", {"cpu.max": "150000 100000"}, 1.5),
        (
            "cpu_quota", "0::/a/b\n",
            {"a/cpu.max": "300000 100000", "a/b/cpu.max": "max 100000"}, 3.0,
        ),
        (
            "cpu_quota", "0::/a/b\n",
            {"a/cpu.max": "300000 100000", "a/b/cpu.max": "200000 100000"}, 2.0,
        ),
        ("cpu_quota", "0::/not/seen/here\n", {"cpu.max": "400000 100000"}, 4.0),
        ("cpu_quota", "3:cpu:/job\n", {"cpu/job/cpu.cfs_quota_us": "100000"}, None),
        ("memory_bytes", "0::/a\n", {"a/memory.max": "max", "memory.max": "8589934592"}, 2**33),
        ("memory_bytes", "", {}, None),
        ("memory_kills", "0::/a\n", {"a/memory.events": "low 0\noom 2\noom_kill 1"}, 1),
    ],
)  # fmt: skip
def test_limits_of_control_groups(
    tmp_path: Path, asked: str, membership: str, files: dict[str, str], expected: float | None
) -> None:
    for name, content in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(content + "\n")
    (tmp_path / "membership").write_text(membership)
    groups = Cgroups(mount=tmp_path, membership=tmp_path / "membership")
    assert getattr(groups, asked)() == expected
