"""Core locks: lock files of a node's cores, in one folder for all sweeps and users of the host.

The kernel releases a lock when the last descriptor of its open file is closed, so also when the
holder is killed: no lock is ever left behind. ``flock`` locks have two properties to know:

- A forked process inherits them in spite of ``O_CLOEXEC``, which closes descriptors at ``exec``
  and not at ``fork``. A loader worker forked by the holder would keep a dead trial's cores for
  the seconds until it noticed. So locks are held by the supervisor, while training processes are
  forked from the fork server, which never had these descriptors.
- They are local to the host, and emulated or absent on network file systems.
"""

from __future__ import annotations

import fcntl
import os
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Final

import psutil

from orchestrator.locations import named_path
from orchestrator.system.private_folder import open_lock

GATE, NODE = "gate.lock", "node.lock"
"""Locks besides the cores' locks: for the process that chooses, and for the whole node."""
_VARIABLE = "SWEEP_LEASES"
_PROC_LOCKS = Path("/proc/locks")
_LAYERED: Final = ("overlay", "fuse.fuse-overlayfs", "aufs")
"""File systems that container runtimes put the root on: an image with a layer to write to."""


def core_lock(core: int) -> str:
    """Return the name of a core's lock."""
    return f"core-{core}.lock"


def lock_folder() -> Path:
    """Return the folder of the core locks: ``$SWEEP_LEASES``, else ``/tmp/sweep-cores``.

    It is one for all users of the node, and so not below the user's own ``TMPDIR``.
    """
    if named := os.environ.get(_VARIABLE):
        return named_path(named, _VARIABLE)
    common = Path("/tmp")
    return (common if common.is_dir() else Path(tempfile.gettempdir())) / "sweep-cores"


def is_private(folder: Path) -> bool:
    """Return True if this is a container, and ``folder`` is in its own layer or in its memory."""
    # A later mount on the same folder hides an earlier one.
    types = {each.mountpoint: each.fstype for each in psutil.disk_partitions(all=True)}
    if types.get("/") not in _LAYERED:
        return False
    place = folder.resolve()
    mounted = next(str(each) for each in (place, *place.parents) if str(each) in types)
    return types[mounted] in (*_LAYERED, "tmpfs")


class CoreLocks:
    """Locks in one folder.

    Attributes:
        folder: It need not exist before :meth:`create_folder`.
        refusal: Reason why locks in it protect from nothing, or empty.
    """

    def __init__(self, folder: Path | None = None, *, proc_locks: Path = _PROC_LOCKS) -> None:
        """Use ``folder``, by default :func:`lock_folder`.

        A container's own folder is refused, since sweeps in other containers on the same cores
        lock elsewhere. A folder that the user has named is trusted.

        Args:
            folder: Named by the caller.
            proc_locks: The kernel's list of locks.
        """
        is_named = folder is not None or bool(os.environ.get(_VARIABLE))
        self.folder = folder or lock_folder()
        self._proc_locks = proc_locks
        self.refusal = ""
        if not is_named and is_private(self.folder):
            self.refusal = (
                f"{self.folder} is this container's own, so that others on the same cores are not "
                f"seen; name a folder of the host in ${_VARIABLE}, or any where there are no others"
            )

    def create_folder(self) -> None:
        """Create the folder, and let other users lock in it.

        Raises:
            OSError: It cannot be created.
        """
        try:
            self.folder.mkdir(parents=True)
        except FileExistsError:
            return
        # As /tmp: all may create files, and none remove another's. The mode of mkdir would be
        # subject to the umask.
        with suppress(PermissionError):
            self.folder.chmod(0o1777)

    def take(self, locks: ExitStack, name: str, *, shared: bool = False) -> bool:
        """Take a lock into ``locks``, which releases it; return False if another process holds it.

        It never blocks: ``flock`` knows no time limit, and a process that waits for one lock
        while it holds others can be part of a deadlock.

        Raises:
            OSError: The lock file cannot be opened, or its file system has no locks.
        """
        kind = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
        with ExitStack() as opened:
            descriptor = open_lock(self.folder / name)
            opened.callback(os.close, descriptor)
            try:
                fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
            except BlockingIOError:
                return False
            locks.push(opened.pop_all())
            return True

    def num_locked(self, cores: Iterable[int], own: Iterable[int]) -> int | None:
        """Count cores that other processes have locked.

        The kernel's list is read: to try the locks would take them for a moment, and make
        another process fail to get them.

        Args:
            cores: All cores of the node.
            own: Cores that this process has locked.

        Returns:
            None where that is not known.
        """
        try:
            files = {core: self.folder / core_lock(core) for core in cores}
            by_inode = {file.stat().st_ino: core for core, file in files.items() if file.exists()}
            locked = [
                (disk, by_inode[inode])
                for disk, inode, _ in self._locked_files()
                if inode in by_inode
            ]
        except (OSError, ValueError, IndexError):
            return None
        # Files of other disks may have the same inode numbers. The folder's disk is
        # taken from own locks, since stat gives another number on some file systems.
        disks = {disk for disk, core in locked if core in own}
        return len({core for disk, core in locked if disk in disks} - set(own)) if disks else None

    def holders(self, cores: Iterable[int]) -> list[int]:
        """Return the other processes that keep a lease of these cores from being granted.

        Returns:
            Processes with the lock of a core or of the node, or with the gate, as far as the
            kernel shows them.
        """
        names = [GATE, NODE, *map(core_lock, cores)]
        try:
            files = [self.folder / name for name in names]
            inodes = {file.stat().st_ino for file in files if file.exists()}
            pids = {pid for _, inode, pid in self._locked_files(shared=True) if inode in inodes}
        except (OSError, ValueError, IndexError):
            return []
        return sorted(pid for pid in pids - {os.getpid()} if pid > 0)  # <= 0: not to be seen here

    def _locked_files(self, *, shared: bool = False) -> Iterator[tuple[str, int, int]]:
        """Yield disk, inode and holder of each file with an exclusive flock, see ``proc(5)``.

        Args:
            shared: True for files with a shared flock as well.
        """
        kinds = {"WRITE", "READ"} if shared else {"WRITE"}
        for line in self._proc_locks.read_text().splitlines():
            fields = line.split()
            if fields[1] == "FLOCK" and fields[3] in kinds:  # a waiting lock has "->" there
                disk, _, inode = fields[5].rpartition(":")
                yield disk, int(inode), int(fields[4])
