"""A trial's processes as the kernel sees them: CPU time, memory, faults, waiting for a core.

Read from ``/proc`` directly, see ``proc(5)``: finding the children of a process otherwise
means reading every process of the node.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

import psutil

_PROC = Path("/proc")
_TICK_S = 1 / os.sysconf("SC_CLK_TCK")
_LISTS_CHILDREN = (_PROC / "thread-self/children").exists()
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


@dataclass(frozen=True, kw_only=True)
class TreeSample:
    """All processes of a trial at one moment, and what they have done since they began.

    Attributes:
        pids: Their numbers.
        cpu_s: CPU time, of those that have ended and were waited for as well.
        major_faults: Page faults that waited for a disk, likewise.
        waited_s: Time that threads were ready and had no core, those seen alive; None where the
            kernel does not keep it.
        resident_bytes: Resident memory; a shared page counts once a process.
        anonymous_bytes: Memory that no file stands behind, counted likewise: what is private,
            what loader workers share, and what the fork server shares with all of them.
    """

    pids: tuple[int, ...] = ()
    cpu_s: float = 0.0
    major_faults: int = 0
    waited_s: float | None = None
    resident_bytes: int = 0
    anonymous_bytes: int = 0


class ProcessTree:
    """The processes below some that are named, read again and again."""

    def __init__(self, schedstats: Path = _PROC) -> None:
        """Nothing is read yet; ``schedstats`` is where the threads' waiting is read from."""
        self._proc = schedstats
        self._waited_ns: dict[tuple[int, int], int] = {}
        self._last = TreeSample()

    def read(self, roots: Sequence[int]) -> TreeSample:
        """What ``roots`` and all below them have come to.

        CPU time and faults never go down: one who ends between two looks at it and at its
        parent is missed once and counted the next time.
        """
        seen = TreeSample()
        for pid in _family(roots):
            with suppress(OSError, ValueError, IndexError):
                seen = _with_process(seen, pid)
                self._read_threads(pid)
        last = self._last
        self._last = replace(
            seen,
            cpu_s=max(seen.cpu_s, last.cpu_s),
            major_faults=max(seen.major_faults, last.major_faults),
            waited_s=sum(self._waited_ns.values()) / 1e9 if self._waited_ns else None,
        )
        return self._last

    def _read_threads(self, pid: int) -> None:
        for thread in _threads(pid):
            with suppress(OSError, ValueError, IndexError):
                text = (self._proc / f"{pid}/task/{thread}/schedstat").read_text()
                ran_ns, waited_ns, *_ = map(int, text.split())
                if ran_ns:  # a kernel that keeps neither says 0 of both
                    self._waited_ns[pid, thread] = waited_ns


def unshared_bytes(pids: Iterable[int]) -> int | None:
    """Memory that no file stands behind, a shared page divided among those that share it.

    It takes some tens of milliseconds for a process of several GiB.
    """
    total, was_read = 0, False
    for pid in pids:
        with suppress(OSError, ValueError):
            lines = (_PROC / f"{pid}/smaps_rollup").read_text().splitlines()
            total += sum(
                int(line.split()[1]) * 1024
                for line in lines
                if line.startswith(("Pss_Anon:", "Pss_Shmem:"))
            )
            was_read = True
    return total if was_read else None


def _family(roots: Sequence[int]) -> Iterator[int]:
    """``roots`` and all below them, parents before children."""
    waiting, seen = list(roots), set(roots)
    while waiting:
        pid = waiting.pop(0)
        yield pid
        new = [child for child in children_of(pid) if child not in seen]
        seen.update(new)
        waiting += new


def children_of(pid: int) -> list[int]:
    """The processes that ``pid`` has started and that have not been waited for."""
    if not _LISTS_CHILDREN:
        with suppress(psutil.NoSuchProcess):
            return [child.pid for child in psutil.Process(pid).children()]
    found: list[int] = []
    for thread in _threads(pid):
        try:
            text = (_PROC / f"{pid}/task/{thread}/children").read_text()
        except OSError:  # the thread has ended
            continue
        found += map(int, text.split())
    return found


def _threads(pid: int) -> list[int]:
    with suppress(OSError):
        return [int(task.name) for task in (_PROC / f"{pid}/task").iterdir()]
    return []


def _with_process(seen: TreeSample, pid: int) -> TreeSample:
    """``seen`` with one process more; see ``proc_pid_stat(5)`` for the positions."""
    fields = _stat(pid)
    return replace(
        seen,
        pids=(*seen.pids, pid),
        cpu_s=seen.cpu_s + _cpu_s(fields, with_ended=True),
        major_faults=seen.major_faults + int(fields[9]) + int(fields[10]),
        resident_bytes=seen.resident_bytes + int(fields[21]) * _PAGE_BYTES,
        anonymous_bytes=seen.anonymous_bytes + _anonymous_bytes(pid),
    )


def cpu_s_of(pid: int, *, with_ended: bool) -> float:
    """CPU time of one process, and of its children that have ended where that is asked for.

    Raises:
        OSError: There is no such process.
    """
    return _cpu_s(_stat(pid), with_ended=with_ended)


def _stat(pid: int) -> list[str]:
    return (_PROC / f"{pid}/stat").read_text().rpartition(")")[2].split()


def _cpu_s(fields: list[str], *, with_ended: bool) -> float:
    positions = (11, 12, 13, 14) if with_ended else (11, 12)
    return sum(int(fields[position]) for position in positions) * _TICK_S


def _anonymous_bytes(pid: int) -> int:
    lines = (_PROC / f"{pid}/status").read_text().splitlines()
    return sum(
        int(line.split()[1]) * 1024 for line in lines if line.startswith(("RssAnon:", "RssShmem:"))
    )
