"""Cores: those that this process may run on, their topology, and a choice among them.

Affinity is what ``taskset``, Slurm and a container's ``--cpuset-cpus`` set: numbers of cores. A
quota (``--cpus``, a pod's limit) is an amount of CPU time on any of them. Both count here:
``os.cpu_count`` knows neither.

Two trials on the two hardware threads of one physical core slow each other down by far more than
two on cores of their own, and memory of another node is further away. So a choice takes whole
physical cores, with all their threads, before single threads, and one node before two.
"""

import os
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from orchestrator.system.cgroup import Cgroups

_SYSTEM = Path("/sys/devices/system")


@dataclass(frozen=True, kw_only=True)
class Core:
    """A core as the kernel numbers them: a hardware thread.

    Attributes:
        physical: The lowest number among the threads of its physical core.
        node: Its NUMA node.
    """

    physical: int
    node: int = 0


Topology = Mapping[int, Core]
"""Cores by number."""


def read_topology(cores: Iterable[int], system: Path = _SYSTEM) -> dict[int, Core]:
    """Return the topology of ``cores``: flat where the system reports none."""
    nodes = _nodes(system / "node")
    return {
        core: Core(physical=_siblings(system, core)[0], node=nodes.get(core, 0)) for core in cores
    }


def choose(free: Iterable[int], count: int, topology: Topology) -> tuple[int, ...] | None:
    """Choose ``count`` of the cores that are free.

    All on one node if one has as many, else on few nodes. Of several such nodes, it is the one
    where the fewest physical cores are split, then the one with the least left over.

    Args:
        free: Cores to choose from.
        count: How many.
        topology: Of all cores that trials may have. A physical core of which a thread is taken
            is known by it to be no longer whole.

    Returns:
        The cores, ascending; None where fewer are free.
    """
    on_node: dict[int, list[int]] = defaultdict(list)
    for core in sorted(free):
        on_node[topology[core].node].append(core)
    if sum(map(len, on_node.values())) < count:
        return None
    fitting = [cores for cores in on_node.values() if len(cores) >= count]
    if fitting:
        options = [(_filled(cores, count, topology), len(cores)) for cores in fitting]
        taken, _ = min(options, key=lambda each: (len(_by_physical(each[0], topology)[1]), each[1]))
        return tuple(sorted(taken))
    taken = []
    for cores in sorted(on_node.values(), key=len, reverse=True):
        taken += _filled(cores, min(count - len(taken), len(cores)), topology)
    return tuple(sorted(taken))


def _filled(free: Sequence[int], count: int, topology: Topology) -> list[int]:
    """Take whole physical cores first, then threads of whole ones, then of split ones."""
    whole, split = _by_physical(free, topology)
    taken: list[int] = []
    for threads in sorted(whole, key=len, reverse=True):
        if len(threads) <= count - len(taken):
            taken += threads
            whole.remove(threads)
    left = [thread for threads in (*whole, *split) for thread in threads]
    return taken + left[: count - len(taken)]


def _by_physical(
    free: Sequence[int], topology: Topology
) -> tuple[list[list[int]], list[list[int]]]:
    """Group the free threads by physical core: of wholly free cores, and of the others."""
    groups: dict[int, list[int]] = defaultdict(list)
    for core in free:
        groups[topology[core].physical].append(core)
    sizes = Counter(known.physical for known in topology.values())
    whole = [threads for physical, threads in groups.items() if len(threads) == sizes[physical]]
    split = [threads for physical, threads in groups.items() if len(threads) < sizes[physical]]
    return whole, split


def _siblings(system: Path, core: int) -> list[int]:
    with suppress(OSError, ValueError):
        return numbers_in((system / f"cpu/cpu{core}/topology/thread_siblings_list").read_text())
    return [core]


def _nodes(folder: Path) -> dict[int, int]:
    """Return the NUMA node of each core."""
    nodes = {}
    for path in folder.glob("node[0-9]*"):
        with suppress(OSError, ValueError):
            for core in numbers_in((path / "cpulist").read_text()):
                nodes[core] = int(path.name.removeprefix("node"))
    return nodes


def numbers_in(text: str) -> list[int]:
    """Return the numbers of a kernel list such as ``0-3,8``, ascending.

    Raises:
        ValueError: It is no such list.
    """
    numbers: list[int] = []
    for part in filter(None, text.strip().split(",")):
        first, _, last = part.partition("-")
        numbers += range(int(first), int(last or first) + 1)
    return sorted(numbers)


def text_of(numbers: Sequence[int]) -> str:
    """Return the kernel's list of ascending ``numbers``: the inverse of :func:`numbers_in`."""
    # Within a run a number is as far ahead of its position as the first one.
    groups = groupby(enumerate(numbers), lambda item: item[1] - item[0])
    runs = [[number for _, number in group] for _, group in groups]
    return ",".join(f"{run[0]}-{run[-1]}" if len(run) > 1 else f"{run[0]}" for run in runs)


def usable_cores() -> tuple[int, ...]:
    """Return the cores that this process may run on, within its CPU quota if it has one."""
    return within_quota(sorted(os.sched_getaffinity(0)), Cgroups().cpu_quota())


def within_quota(allowed: Sequence[int], quota: float | None) -> tuple[int, ...]:
    """Return as many of the allowed cores as the quota pays for in full, at least one."""
    if quota is None or quota >= len(allowed):
        return tuple(allowed)
    # Rounded down: trials that keep more cores busy than the quota pays for are all throttled.
    return choose(allowed, max(int(quota), 1), read_topology(allowed)) or tuple(allowed)
