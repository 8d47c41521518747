"""Memory of this node, and the order in which the kernel kills when none is left."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil

from orchestrator.system.cgroup import Cgroups

_SCORE = Path("/proc/self/oom_score_adj")


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
    in its trial's place could not say why the trial ended.
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
