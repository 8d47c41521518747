"""Control groups: limits of CPU time and memory of this process, in versions 1 and 2.

Version 1 has one hierarchy of groups for each controller (``cpu``, ``memory``), each mounted in a
separate folder. Version 2 has one for all, mounted at the root, or next to those of version 1 in
``unified`` (hybrid systems). A process has one group in each hierarchy.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

_VERSION_2 = ""
"""Name of the version 2 group among those by controller."""


@dataclass(frozen=True, kw_only=True)
class Cgroups:
    """The control groups of this process and those above them, all of which limit it.

    Attributes:
        mount: Folder that the hierarchies are mounted below.
        membership: File that lists this process's group in each hierarchy.
    """

    mount: Path = Path("/sys/fs/cgroup")
    membership: Path = Path("/proc/self/cgroup")

    def cpu_quota(self) -> float | None:
        """Return the CPU time that may be used per wall time, or None for no limit.

        A quota names no cores. 2.0 on a node of eight cores is two full cores or a quarter of each:
        more threads than that are stopped for the rest of each period (mostly 100 ms).
        """
        both = [text.split() for text in self._texts(_VERSION_2, "cpu.max")]
        quotas = self._texts("cpu", "cpu.cfs_quota_us")
        periods = self._texts("cpu", "cpu.cfs_period_us")
        both += map(list, zip(quotas, periods, strict=True))
        limits = [int(quota) / int(period) for quota, period in both if quota not in ("max", "-1")]
        return min(limits, default=None)

    def memory_bytes(self) -> int | None:
        """Return the memory that may be used, or None for no limit."""
        texts = [
            *self._texts(_VERSION_2, "memory.max"),
            *self._texts("memory", "memory.limit_in_bytes"),  # near 2**63 for no limit
        ]
        return min((int(text) for text in texts if text != "max"), default=None)

    def memory_kills(self) -> int | None:
        """Count kills for memory in this group; on the node if the group has no count.

        Returns:
            None where the kernel counts none of them.
        """
        # The process's own group comes first: one above it may count the kills of others as well.
        texts = [
            *self._texts(_VERSION_2, "memory.events"),
            *self._texts("memory", "memory.oom_control"),
            Path("/proc/vmstat").read_text(),
        ]
        counts = [n for text in texts for n in re.findall(r"^oom_kill (\d+)$", text, re.MULTILINE)]
        return int(counts[0]) if counts else None

    def _texts(self, controller: str, file: str) -> Iterator[str]:
        """Yield the contents of a file of this process's group and of those above it.

        A container may read the host's path, which its mount does not have: then only the mount's
        root is left, the container's own group.
        """
        mounts = (controller,) if controller else ("", "unified")
        for base in [self.mount / mount for mount in mounts]:
            own = base / self._group(controller).lstrip("/")
            for folder in (own, *own.parents):
                with suppress(OSError):  # a group without the controller has no such file
                    if folder.is_relative_to(base):
                        yield (folder / file).read_text().strip()

    def _group(self, controller: str) -> str:
        """Return the path of the group. A container may see its own group as the root."""
        with suppress(OSError):
            for line in self.membership.read_text().splitlines():
                # Only two colons separate fields: the path may contain more.
                _, controllers, path = line.split(":", 2)
                if controller in controllers.split(","):
                    return path
        return "/"
