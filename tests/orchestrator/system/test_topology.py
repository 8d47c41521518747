"""Whole physical cores before hyper-threads, one NUMA node before two: on made-up machines."""

from __future__ import annotations

from pathlib import Path

import pytest

from orchestrator.system.topology import choose, numbers_in, read_topology, text_of


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


def test_without_a_topology_cores_are_taken_in_order(tmp_path: Path) -> None:
    assert choose([3, 1, 2], 2, read_topology([1, 2, 3], tmp_path)) == (1, 2)


def test_reads_the_kernel_lists() -> None:
    assert numbers_in("0-3,8,10-11\n") == [0, 1, 2, 3, 8, 10, 11]
    assert numbers_in("\n") == []
    with pytest.raises(ValueError, match="invalid literal"):
        numbers_in("zero")


@pytest.mark.parametrize("text", ["", "0", "0-1", "0-3,8,10-11", "1,3,5"])
def test_a_kernel_list_is_written_as_it_is_read(text: str) -> None:
    assert text_of(numbers_in(text)) == text
