"""Containers: whether a folder is one's own, and so not the place to meet others of the host."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final, NamedTuple

_MOUNTS: Final = Path("/proc/self/mountinfo")
_LAYERED: Final = ("overlay", "fuse.fuse-overlayfs", "aufs")
"""What container runtimes put the root file system on: an image with a layer to write to."""


class Mount(NamedTuple):
    """Where a file system is mounted, and of which type it is."""

    point: Path
    type: str


def is_private(folder: Path, *, mounts: Path = _MOUNTS) -> bool:
    """Whether this is a container and ``folder`` is seen in it alone.

    That is so for a folder in the container's own layer, and for one in memory. A volume or
    a folder of the host may be seen by others, and counts as common.

    Args:
        folder: It need not exist.
        mounts: What the kernel says of the mounts (proc_pid_mountinfo(5)). Where it says
            nothing, a folder counts as common.
    """
    found = _mounts(mounts)
    if _holding(Path("/"), found) not in _LAYERED:
        return False
    return _holding(Path(os.path.realpath(folder)), found) in (*_LAYERED, "tmpfs")


def _mounts(file: Path) -> list[Mount]:
    try:
        lines = file.read_text().splitlines()
    except OSError:
        return []
    # "36 35 98:0 /root /mnt rw,noatime master:1 - ext3 /dev/root rw": optional fields end at "-".
    words = [line.split() for line in lines if " - " in line]
    return [Mount(Path(each[4]), each[each.index("-") + 1]) for each in words]


def _holding(folder: Path, mounts: list[Mount]) -> str:
    """Type of the file system that a folder is in; of two on one point it is the later one."""
    holding = [mount for mount in mounts if folder.is_relative_to(mount.point)]
    innermost = max((len(mount.point.parts) for mount in holding), default=0)
    types = [mount.type for mount in holding if len(mount.point.parts) == innermost]
    return types[-1] if types else ""
