"""Core locks: lock files of a node's cores, in one folder for all sweeps and users of the host.

The kernel releases a lock when the last descriptor of its open file is closed, so also when the
holder is killed: no lock is ever left behind. ``flock`` locks have two properties to know:

- A forked process inherits them in spite of ``O_CLOEXEC``, which closes descriptors at ``exec``
  and not at ``fork``. A loader worker forked by the holder would keep a dead trial's cores for
  the seconds until it noticed. So locks are held by the supervisor, while training processes are
  forked from the fork server, which never had these descriptors.
- They are local to the host, and emulated or absent on network file systems.
"""

import fcntl
import os
import struct
import tempfile
import time
from collections.abc import Callable, Iterable
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Final

from orchestrator.locations import named_path
from orchestrator.system.disk import open_lock

NODE, QUEUE = "node.lock", "queue.lock"
"""Locks besides the cores' locks: for the whole node, and for those that wait, each of which locks
the byte whose number is the time, in ns, at which it came."""
_FLOCK: Final = "hhqqi4x"
"""``struct flock`` of ``fcntl(2)``: kind, origin, start, length, process."""
_VARIABLE = "SWEEP_LEASES"
_PROC_LOCKS = Path("/proc/locks")


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


class CoreLocks:
    """Locks in one folder.

    Attributes:
        folder: It need not exist before :meth:`create_folder`.
    """

    def __init__(self, folder: Path | None = None, *, proc_locks: Path = _PROC_LOCKS) -> None:
        """Use ``folder``, by default :func:`lock_folder`, and the kernel's list of locks."""
        self.folder = folder or lock_folder()
        self._proc_locks = proc_locks

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
        """Take a lock into ``locks``, which releases it; return False if another process has it.

        It never blocks: ``flock`` knows no time limit, and a process that waits for one lock
        while it has others can be part of a deadlock.

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

    def queue(self, locks: ExitStack) -> Callable[[], bool]:
        """Come last in the queue until ``locks`` are closed; return a test for being first.

        The lock belongs to the open file, as a ``flock`` does; permission to read suffices.
        """
        descriptor = open_lock(self.folder / QUEUE)
        locks.callback(os.close, descriptor)
        came_at = time.monotonic_ns()

        def lock(command: int, kind: int, start: int, length: int) -> int:
            asked = struct.pack(_FLOCK, kind, os.SEEK_SET, start, length, 0)
            return int(struct.unpack(_FLOCK, fcntl.fcntl(descriptor, command, asked))[0])

        lock(fcntl.F_OFD_SETLK, fcntl.F_RDLCK, came_at, 1)
        return lambda: lock(fcntl.F_OFD_GETLK, fcntl.F_WRLCK, 0, came_at) == fcntl.F_UNLCK

    def held(self, cores: Iterable[int]) -> dict[int, set[int]]:
        """Return the cores that each process has locked: none for one that has only the node's.

        The kernel's list is read, see ``proc(5)``: to try the locks would take them for a moment,
        and make another process fail to get them. A process that is not seen here is 0 or below.
        """
        names = {NODE: set[int](), **{core_lock(core): {core} for core in cores}}
        found: dict[int, set[int]] = {}
        with suppress(OSError, ValueError, IndexError):
            files = {self.folder / name: cores for name, cores in names.items()}
            by_inode = {file.stat().st_ino: cores for file, cores in files.items() if file.exists()}
            for line in self._proc_locks.read_text().splitlines():
                fields = line.split()
                inode = int(fields[-3].rpartition(":")[2])
                if fields[1] == "FLOCK" and inode in by_inode:  # a waiting lock has "->" there
                    found.setdefault(int(fields[4]), set()).update(by_inode[inode])
        return found
