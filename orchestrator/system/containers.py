"""Containers: whether a folder is one's own, and so not the place to meet others of the host."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final, NamedTuple

_MOUNTS: Final = Path("/proc/self/mountinfo")
_LAYERED: Final = ("overlay", "fuse.fuse-overlayfs", "aufs")
"""What container runtimes put the root file system on: an image with a layer to write to."""


_OF_A_POD: Final = "kubernetes.io~empty-dir"
"""In the path of a folder that Kubernetes makes for one pod and takes away with it."""


class Mount(NamedTuple):
    """Where a file system is mounted, which folder of it, and of which type it is."""

    point: Path
    root: str
    type: str

    @property
    def is_private(self) -> bool:
        """Whether no other container sees it."""
        return self.type in (*_LAYERED, "tmpfs") or _OF_A_POD in self.root


def is_private(folder: Path, *, mounts: Path = _MOUNTS) -> bool:
    """Whether this is a container and ``folder`` is seen in it alone.

    That is so for a folder in the container's own layer, for one in memory, and for a pod's own
    (``emptyDir``). Another volume, or a folder of the host, may be seen by others, and counts as
    common.

    Args:
        folder: It need not exist.
        mounts: What the kernel says of the mounts (proc_pid_mountinfo(5)). Where it says
            nothing, a folder counts as common.
    """
    found = _mounts(mounts)
    root = _holding(Path("/"), found)
    if root is None or root.type not in _LAYERED:
        return False
    holding = _holding(Path(os.path.realpath(folder)), found)
    return holding is not None and holding.is_private


def _mounts(file: Path) -> list[Mount]:
    try:
        lines = file.read_text().splitlines()
    except OSError:
        return []
    # "36 35 98:0 /root /mnt rw,noatime master:1 - ext3 /dev/root rw": optional fields end at "-".
    words = [line.split() for line in lines if " - " in line]
    return [Mount(Path(each[4]), each[3], each[each.index("-") + 1]) for each in words]


def _holding(folder: Path, mounts: list[Mount]) -> Mount | None:
    """The mount that a folder is in; of two on one point it is the later one."""
    holding = [mount for mount in mounts if folder.is_relative_to(mount.point)]
    innermost = max((len(mount.point.parts) for mount in holding), default=0)
    nearest = [mount for mount in holding if len(mount.point.parts) == innermost]
    return nearest[-1] if nearest else None
