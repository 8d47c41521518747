"""Containers: tell a folder that only this container sees from one that others see too."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final, NamedTuple

_MOUNTS: Final = Path("/proc/self/mountinfo")
_LAYERED: Final = ("overlay", "fuse.fuse-overlayfs", "aufs")
"""File systems that container runtimes put the root on: an image with a layer to write to."""
_OF_A_POD: Final = "kubernetes.io~empty-dir"
"""Part of the path of a folder that Kubernetes creates for one pod, and removes with it."""


class Mount(NamedTuple):
    """A mounted file system.

    Attributes:
        point: Folder that it is mounted on.
        root: Folder of the file system that is seen there.
        type: Type of the file system.
    """

    point: Path
    root: str
    type: str

    @property
    def is_private(self) -> bool:
        """True if no other container sees it."""
        return self.type in (*_LAYERED, "tmpfs") or _OF_A_POD in self.root


def is_private(folder: Path, *, mounts: Path = _MOUNTS) -> bool:
    """Return True if this is a container, and ``folder`` is seen in it alone.

    Private are a folder in the container's own layer, one in memory, and a pod's own
    (``emptyDir``). Another volume, or a folder of the host, may be seen by other containers.

    Args:
        folder: It need not exist.
        mounts: The kernel's list of mounts, see proc_pid_mountinfo(5). Without it no folder
            counts as private.
    """
    listed = _mounts(mounts)
    root = _mount_of(Path("/"), listed)
    # A root that is not in layers is taken for a host's.
    if root is None or root.type not in _LAYERED:
        return False
    # The folder may be a link into another mount.
    mount = _mount_of(Path(os.path.realpath(folder)), listed)
    return mount is not None and mount.is_private


def _mounts(file: Path) -> list[Mount]:
    try:
        lines = file.read_text().splitlines()
    except OSError:
        return []
    # "36 35 98:0 /root /mnt rw,noatime master:1 - ext3 /dev/root rw": optional fields end at "-".
    words = [line.split() for line in lines if " - " in line]
    return [Mount(Path(each[4]), each[3], each[each.index("-") + 1]) for each in words]


def _mount_of(folder: Path, mounts: list[Mount]) -> Mount | None:
    """Return the mount that a folder is in. Of two on one point the later one hides the other."""
    above = [mount for mount in mounts if folder.is_relative_to(mount.point)]
    depth = max((len(mount.point.parts) for mount in above), default=0)
    innermost = [mount for mount in above if len(mount.point.parts) == depth]
    return innermost[-1] if innermost else None
