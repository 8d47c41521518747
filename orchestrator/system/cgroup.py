"""CPU time and memory of this process: its control groups, the node, the order of kills.

Control groups of version 1 have one hierarchy for each controller (``cpu``, ``memory``), each
mounted in a separate folder. Version 2 has one for all, mounted at the root, or next to those of
version 1 in ``unified`` (hybrid systems). A process has one group in each hierarchy.
"""

from __future__ import annotations

import gc
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

_SCORE = Path("/proc/self/oom_score_adj")

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


def node_bytes() -> int:
    """Return the memory of this node, or of its control group if that is less, in bytes."""
    # The total: what is available depends on the trials that run already.
    total = int(psutil.virtual_memory().total)
    limit = Cgroups().memory_bytes()
    return total if limit is None else min(total, limit)


def offer_to_kernel() -> None:
    """Let the kernel, when out of memory, kill this process and its children first of all.

    A raised score needs no privilege, and is inherited by children.
    """
    with suppress(OSError):
        _SCORE.write_text("1000")


def keep_from_kernel() -> None:
    """Let the kernel kill this process after those that train.

    Ray gives its workers the highest score, which is also a trial's. A supervisor that is killed
    in its trial's place could not report why the trial ended.
    """
    with suppress(OSError):
        # Without privileges it goes down to what a privileged process has set last, no further.
        _SCORE.write_text("0")


@contextmanager
def without_collecting() -> Iterator[None]:
    """Keep the objects of modules imported within it from the garbage collector for good.

    The collector would go over thousands of modules, again and again while they are imported:
    a fifth of the CPU time of importing torch. It would do so once more in every process that is
    forked afterwards. That takes a quarter of a second amid timed steps. It also writes to each
    object's header, so that 50 MiB are no longer shared with the parent, in each loader worker too.
    """
    gc.disable()
    try:
        yield
    finally:
        # Before it is enabled: a collection in between would go over all of these modules.
        gc.freeze()
        gc.enable()
