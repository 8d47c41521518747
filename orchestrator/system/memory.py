"""Memory of this node, and whom the kernel kills first when there is none left."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from orchestrator.system.cgroup import Cgroups

_MEMINFO = Path("/proc/meminfo")
_SCORE = Path("/proc/self/oom_score_adj")


def node_bytes(meminfo: Path = _MEMINFO, cgroups: Cgroups | None = None) -> int | None:
    """Memory of this node, or of its control group where that is less."""
    known: list[int] = []
    with suppress(OSError, ValueError, IndexError):
        for line in meminfo.read_text().splitlines():
            if line.startswith("MemTotal:"):
                known.append(int(line.split()[1]) * 1024)
    limit = (cgroups or Cgroups()).memory_bytes()
    return min([*known, *([limit] if limit is not None else [])], default=None)


def offer_to_kernel() -> None:
    """Has the kernel, when out of memory, take this process and its children first of all."""
    with suppress(OSError):
        _SCORE.write_text("1000")


def keep_from_kernel() -> None:
    """Has the kernel take this process after those that train.

    Ray gives its workers the highest score, the same as a trial has.
    """
    with suppress(OSError):
        _SCORE.write_text("0")
