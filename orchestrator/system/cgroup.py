"""Control groups: limits of CPU time and memory of this process, in versions 1 and 2.

Version 1 has one hierarchy of groups for each controller (``cpu``, ``memory``), each mounted in a
separate folder. Version 2 has one for all, mounted at the root, or next to those of version 1 in
``unified`` (hybrid systems). A process has one group in each hierarchy.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

_MOUNT = Path("/sys/fs/cgroup")
_MEMBERSHIP = Path("/proc/self/cgroup")
_UNIFIED = ""
"""Key of the version 2 group among those by controller."""


@dataclass(frozen=True, kw_only=True)
class Cgroups:
    """The control groups of this process and those above them, all of which limit it.

    Attributes:
        mount: Folder that the hierarchies are mounted below.
        membership: File that lists this process's group in each hierarchy.
    """

    mount: Path = _MOUNT
    membership: Path = _MEMBERSHIP

    def cpu_quota(self) -> float | None:
        """Return the CPU time that may be used per wall time, or None for no limit.

        A quota names no cores. 2.0 on a node of eight cores is two full cores or a quarter of each:
        more threads than that are stopped for the rest of each period (mostly 100 ms).
        """
        # A controller is in one hierarchy alone. On a hybrid system that may be either version's.
        limits = [*self._limits(_UNIFIED, _quota), *self._limits("cpu", _quota_v1)]
        return min(limits, default=None)

    def memory_bytes(self) -> int | None:
        """Return the memory that may be used, or None for no limit."""
        limits = [
            *self._limits(_UNIFIED, _number("memory.max")),
            *self._limits("memory", _number("memory.limit_in_bytes")),
        ]
        return int(min(limits)) if limits else None

    def memory_kills(self) -> int | None:
        """Count the processes of this group that were killed for memory; None if unknown."""
        # The process's own group comes first: one above it may count the kills of others as well.
        for controller, file in ((_UNIFIED, "memory.events"), ("memory", "memory.oom_control")):
            for folder in self._folders(controller):
                kills = named_count(folder / file, "oom_kill")
                if kills is not None:
                    return kills
        return None

    def _limits(self, controller: str, read: Callable[[Path], float | None]) -> Iterator[float]:
        for folder in self._folders(controller):
            with suppress(OSError, ValueError):
                # A group without the controller has no such file, nor has the root of version 2.
                limit = read(folder)
                if limit is not None:
                    yield limit

    def _folders(self, controller: str) -> Iterator[Path]:
        """Yield the folders of this process's group and those above it, as far as they are seen."""
        path = self._group(controller)
        for base in self._bases(controller):
            # A container may read the host's path, which its mount does not have. Then only the
            # mount's root is left: the container's own group.
            own = base / path.lstrip("/")
            yield from (f for f in (own, *own.parents) if f.is_relative_to(base) and f.is_dir())

    def _bases(self, controller: str) -> tuple[Path, ...]:
        if controller == _UNIFIED:
            return (self.mount, self.mount / "unified")
        return (self.mount / controller,)

    def _group(self, controller: str) -> str:
        """Return the path of the group. A container may see its own group as the root."""
        with suppress(OSError, ValueError):
            for line in self.membership.read_text().splitlines():
                # Only two colons separate fields: the path may hold more.
                _, controllers, path = line.split(":", 2)
                if controller in controllers.split(","):
                    return path
        return "/"


def named_count(path: Path, name: str) -> int | None:
    """Return the number behind ``name`` in a file of names and numbers; None if absent."""
    with suppress(OSError, ValueError):
        for line in path.read_text().splitlines():
            if line.startswith(f"{name} "):
                return int(line.split()[1])
    return None


def _quota(folder: Path) -> float | None:
    """Read version 2's quota: microseconds of CPU time in each period, and the period."""
    quota, period = (folder / "cpu.max").read_text().split()
    return None if quota == "max" else int(quota) / int(period)


def _quota_v1(folder: Path) -> float | None:
    """Read version 1's quota: two files, and -1 for no limit."""
    quota = int((folder / "cpu.cfs_quota_us").read_text())
    return None if quota < 0 else quota / int((folder / "cpu.cfs_period_us").read_text())


def _number(file: str) -> Callable[[Path], float | None]:
    """Return a reader of a file with one number, or ``max``."""

    def read(folder: Path) -> float | None:
        # Version 1 has no word for "no limit": it says a number near 2**63.
        text = (folder / file).read_text().strip()
        return None if text == "max" else int(text)

    return read
