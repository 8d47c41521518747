"""CPU time and memory of this process: its control groups, the node, the order of kills.

Control groups are those of version 2: one hierarchy for all controllers.
"""

import gc
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

_SCORE = Path("/proc/self/oom_score_adj")


@dataclass(frozen=True, kw_only=True)
class Cgroups:
    """The control groups of this process and those above them, all of which limit it.

    Attributes:
        mount: Folder that the hierarchy is mounted at.
        membership: File that lists this process's group.
    """

    mount: Path = Path("/sys/fs/cgroup")
    membership: Path = Path("/proc/self/cgroup")

    def cpu_quota(self) -> float | None:
        """Return the CPU time that may be used per wall time, or None for no limit.

        A quota names no cores. 2.0 on a node of eight cores is two full cores or a quarter of each:
        more threads than that are stopped for the rest of each period (mostly 100 ms).
        """
        both = [text.split() for text in self._texts("cpu.max")]
        limits = [int(quota) / int(period) for quota, period in both if quota != "max"]
        return min(limits, default=None)

    def memory_bytes(self) -> int | None:
        """Return the memory that may be used, or None for no limit."""
        texts = self._texts("memory.max")
        return min((int(text) for text in texts if text != "max"), default=None)

    def memory_kills(self) -> int | None:
        """Count kills for memory in this group; on the node if the group has no count.

        Returns:
            None where the kernel counts none of them.
        """
        # The process's own group comes first: one above it may count the kills of others as well.
        texts = [*self._texts("memory.events"), Path("/proc/vmstat").read_text()]
        counts = [n for text in texts for n in re.findall(r"^oom_kill (\d+)$", text, re.MULTILINE)]
        return int(counts[0]) if counts else None

    def _texts(self, file: str) -> Iterator[str]:
        """Yield the contents of a file of this process's group and of those above it.

        A container may read the host's path, which its mount does not have: then only the mount's
        root is left, the container's own group.
        """
        lines = self.membership.read_text().splitlines()
        group = next((line.removeprefix("0::") for line in lines if line.startswith("0::")), "/")
        own = self.mount / group.lstrip("/")
        for folder in (own, *own.parents):
            with suppress(OSError):  # a group without the controller has no such file
                if folder.is_relative_to(self.mount):
                    yield (folder / file).read_text().strip()


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
