"""Trees of processes: their CPU time, memory, page faults and waiting for cores.

Read from ``/proc`` directly, see ``proc(5)``. A library such as psutil finds the children of a
process by reading every process of the node, which takes milliseconds on a busy one.
"""

import os
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

_PROC = Path("/proc")
_TICK_S = 1 / os.sysconf("SC_CLK_TCK")
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


@dataclass(frozen=True, kw_only=True)
class TreeSample:
    """All processes of a tree at one moment. Times and faults are since they began.

    Attributes:
        pids: Their process ids.
        cpu_s: CPU time, including processes that have ended and were waited for.
        major_faults: Page faults that waited for a disk, likewise.
        waited_s: Time that threads were ready and had no core, of those ever read alive; None
            where the kernel does not count it.
        resident_bytes: Resident memory. A shared page counts once a process.
        anonymous_bytes: Memory without a file behind it, counted likewise: private pages, those
            that loader workers share, and those that the fork server shares with all of them.
    """

    pids: tuple[int, ...] = ()
    cpu_s: float = 0.0
    major_faults: int = 0
    waited_s: float | None = None
    resident_bytes: int = 0
    anonymous_bytes: int = 0


class ProcessTree:
    """Processes and all below them, read again and again."""

    def __init__(self, schedstats: Path = _PROC) -> None:
        """Begin without a sample.

        Args:
            schedstats: Folder with ``<pid>/task/<tid>/schedstat``.
        """
        self._proc = schedstats
        self._waited_ns: dict[tuple[int, int], int] = {}
        self._last = TreeSample()

    def read(self, roots: Sequence[int]) -> TreeSample:
        """Return a sample of ``roots`` and all below them.

        CPU time and faults never decrease. A process that ends between the reading of its parent
        and its own is in neither: it is missed once, and counted with its parent the next time.
        """
        pids: list[int] = []
        cpu, faults, resident, anonymous = 0.0, 0, 0, 0
        for pid in family(roots):
            with suppress(OSError, ValueError, IndexError):
                fields = _stat(pid)  # see proc_pid_stat(5) for the positions
                # RssShmem too: the kernel cannot drop shared memory as it drops a file's pages.
                anonymous += _anonymous_bytes(pid)
                cpu += _cpu_s(fields, with_ended=True)
                faults += int(fields[9]) + int(fields[10])
                resident += int(fields[21]) * _PAGE_BYTES
                pids.append(pid)
                self._read_threads(pid)
        self._last = TreeSample(
            pids=tuple(pids),
            cpu_s=max(cpu, self._last.cpu_s),
            major_faults=max(faults, self._last.major_faults),
            waited_s=sum(self._waited_ns.values()) / 1e9 if self._waited_ns else None,
            resident_bytes=resident,
            anonymous_bytes=anonymous,
        )
        return self._last

    def _read_threads(self, pid: int) -> None:
        """Keep the waiting of each thread: its counter is gone when the thread is."""
        for thread in _threads(pid):
            with suppress(OSError, ValueError, IndexError):
                text = (self._proc / f"{pid}/task/{thread}/schedstat").read_text()
                ran_ns, waited_ns, *_ = map(int, text.split())
                if ran_ns:  # a kernel that counts neither has 0 for both
                    self._waited_ns[pid, thread] = waited_ns


def unshared_bytes(pids: Iterable[int], shared_files: int = 0) -> int | None:
    """Return memory without a file behind it, a shared page divided among its processes.

    It takes some tens of milliseconds for a process of several GiB (66 ms for 5 GB).

    Args:
        pids: The processes.
        shared_files: Bytes of their files in shared memory; they may have mapped all of them.

    Returns:
        None where no process could be read.
    """
    private, shared, was_read = 0, 0, False
    for pid in pids:
        with suppress(OSError, ValueError):
            sizes = rolled_up(pid)
            private += sizes.get("Pss_Anon", 0)
            shared += sizes.get("Pss_Shmem", 0)
            was_read = True
    return private + max(shared, shared_files) if was_read else None


def rolled_up(pid: int) -> dict[str, int]:
    """Return the bytes of a process by kind, over all its mappings.

    Raises:
        OSError: It has ended, or may not be read.
    """
    lines = (_PROC / f"{pid}/smaps_rollup").read_text().splitlines()[1:]
    kinds = (line.split() for line in lines)
    return {name.rstrip(":"): int(kib) * 1024 for name, kib, *_ in kinds}


def family(roots: Iterable[int]) -> list[int]:
    """Return ``roots`` and all below them, parents before children."""
    found = dict.fromkeys(roots)
    for pid in (unvisited := list(found)):
        new = [child for child in children_of(pid) if child not in found]
        found.update(dict.fromkeys(new))
        unvisited += new
    return list(found)


def children_of(pid: int) -> list[int]:
    """Return the children of ``pid`` that have not been waited for."""
    children: list[int] = []
    for thread in _threads(pid):
        try:
            # The list is a thread's: a child is in the list of the thread that forked it.
            text = (_PROC / f"{pid}/task/{thread}/children").read_text()
        except OSError:  # the thread has ended
            continue
        children += map(int, text.split())
    return children


def _threads(pid: int) -> list[int]:
    with suppress(OSError):
        return [int(task.name) for task in (_PROC / f"{pid}/task").iterdir()]
    return []


def cpu_s_of(pid: int, *, with_ended: bool) -> float:
    """Return the CPU time of one process, with its ended children's if asked for.

    Raises:
        OSError: There is no such process.
    """
    return _cpu_s(_stat(pid), with_ended=with_ended)


def _stat(pid: int) -> list[str]:
    """Return the fields behind the name, which is in parentheses and may have any character."""
    return (_PROC / f"{pid}/stat").read_text().rpartition(")")[2].split()


def _cpu_s(fields: list[str], *, with_ended: bool) -> float:
    positions = (11, 12, 13, 14) if with_ended else (11, 12)
    return sum(int(fields[position]) for position in positions) * _TICK_S


def _anonymous_bytes(pid: int) -> int:
    """Return resident memory without a file behind it, private and shared."""
    lines = (_PROC / f"{pid}/status").read_text().splitlines()
    kinds = ("RssAnon:", "RssShmem:")
    return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith(kinds))
