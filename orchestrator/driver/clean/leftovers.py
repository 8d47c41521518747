"""The places outside of run directories where runs leave something.

=====================================  ========================================================
``sweep-*`` of the temporary folders   sockets, Ray's session, checkpoints: of a run that was killed
                                       together with its fork servers, or on a cluster
core locks                             empty files, by which the sweeps of a host share its cores
cache                                  converted and generated data sets, MLflow's empty database
``torchinductor_*``                    torch's folder for compiled code, where it is empty
``__pycache__``                        byte code of modules of the current folder
=====================================  ========================================================
"""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import stat
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

from orchestrator.data import DataFolders
from orchestrator.driver.clean.open_paths import users_of
from orchestrator.errors import file_of
from orchestrator.execution.core_locks import lock_folder
from orchestrator.system.lock_files import open_lock
from orchestrator.system.owners import owner_of
from orchestrator.system.private_folder import PREFIX, is_held, places

JUST_BEGUN_S: Final = 60.0
"""A folder that is younger may be one that a program is about to use."""
_MADE: Final = re.compile(rf"{PREFIX}(artifact-)?[a-z0-9_]{{8}}")
"""Name of a temporary folder, as ``tempfile`` makes it."""
_CACHED: Final = {"mlflow": "an empty database", "matplotlib": "Matplotlib's list of fonts"}
_SERVER_LOG: Final = re.compile("[0-9a-f]{12}[.]log")
_OF_OTHERS: Final = ("runs", "data", "node_modules", "site-packages", "dist-packages")
"""Folders that no module of one's own is imported from."""


@dataclass(frozen=True, kw_only=True)
class Leftover:
    """Something that a run has left.

    Attributes:
        path: Its place.
        what: It, in a few words.
        num_bytes: Its size on the disk.
        remove: Removes it.
        used_by: What uses it now, in words; empty where nothing does.
        refusal: Why it cannot be removed, where that is known before.
        is_cache: True where a later run would make it again.
    """

    path: Path
    what: str
    num_bytes: int
    remove: Callable[[], None]
    used_by: str = ""
    refusal: str = ""
    is_cache: bool = False


def leftovers(here: Path) -> list[Leftover]:
    """Return all that runs have left; ``here`` is the folder of the user's own code."""
    private, cache = sorted(_private_folders()), DataFolders.default().cache
    cached = list(_cached(cache))
    users = users_of([*private, *cached])
    found = [
        Leftover(
            path=folder,
            what="temporary files of a run",
            num_bytes=_size(folder),
            remove=partial(shutil.rmtree, folder),
            used_by=_user(users, folder) or _owner(folder),
        )
        for folder in private
    ]
    running = next((each.used_by for each in found if each.used_by), "")
    found += _core_locks(running)
    found += [
        Leftover(
            path=folder,
            what=_CACHED.get(folder.name, "a converted data set"),
            num_bytes=_size(folder),
            remove=partial(_remove_cached, folder, cache),
            used_by=_user(users, folder) or running,  # a sweep may open it with its next trial
            is_cache=True,
        )
        for folder in cached
    ]
    return [*found, *_of_torch(), *_byte_code(here)]


def _of_torch() -> Iterator[Leftover]:
    """Yield the folders that torch makes for compiled code when it is imported; others' in them."""
    for folder in _found(places(), "torchinductor_*"):
        with suppress(OSError):
            if folder.lstat().st_uid == os.geteuid() and not any(folder.iterdir()):
                what = "an empty folder of torch's"
                yield Leftover(path=folder, what=what, num_bytes=0, remove=folder.rmdir)


def _found(folders: Iterable[Path], pattern: str) -> Iterator[Path]:
    """Yield what is in folders; one that cannot be searched has nothing."""
    for folder in folders:
        with suppress(OSError):
            yield from folder.glob(pattern)


def _core_locks(running: str) -> Iterator[Leftover]:
    folder, refusal = lock_folder(), ""
    if os.path.isdir(folder):  # noqa: PTH112 - of any length
        try:
            running = running or _locked(folder)
        except OSError as error:
            refusal = f"{Path(file_of(error)).name}: {error.strerror or error}"
        yield Leftover(
            path=folder,
            what="core locks",
            num_bytes=_size(folder),
            remove=partial(_remove_locks, folder),
            used_by=running,
            refusal=refusal,
        )


def _cached(cache: Path) -> Iterator[Path]:
    """Yield what runs have put into the cache, which may be a folder that has other things too."""
    with suppress(OSError):
        for folder in sorted((cache / "data").iterdir()):
            if (folder / "lock").is_file() or any(folder.glob("*/manifest.json")):
                yield folder
    if any(_found([cache / "matplotlib"], "fontlist-*.json")):
        yield cache / "matplotlib"
    if any(_found([cache / "mlflow"], "*.db")):
        yield cache / "mlflow"


def _remove_cached(folder: Path, cache: Path) -> None:
    shutil.rmtree(folder)
    for empty in (cache / "data", cache):
        with suppress(OSError):  # it is not empty
            empty.rmdir()


def _byte_code(here: Path) -> Iterator[Leftover]:
    folders = list(_byte_code_folders(here))
    if folders:
        yield Leftover(
            path=here,
            what=f"byte code, {len(folders)} folders __pycache__",
            num_bytes=sum(map(_size, folders)),
            remove=partial(_remove_all, folders),
        )


def _private_folders() -> Iterator[Path]:
    """Yield this user's own temporary folders of runs."""
    yield from filter(_is_private, _found(places(), f"{PREFIX}*"))


def _is_private(path: Path) -> bool:
    """Return True for a folder that a run has made, by its name, its mode and what is in it."""
    try:
        found, names = path.lstat(), [each.name for each in path.iterdir()]
    except OSError:
        return False
    is_own = stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid()
    return (
        is_own
        and not found.st_mode & 0o077
        and _MADE.fullmatch(path.name) is not None
        and (
            not names
            or path.name.startswith(f"{PREFIX}artifact-")
            or is_held(path) is not None
            or any(map(_SERVER_LOG.fullmatch, names))
        )
    )


def _owner(folder: Path) -> str:
    """Return whose folder it is, in words; empty where its process has ended."""
    held = is_held(folder)
    if held is None:  # of a process that has not noted it: nobody knows what it is about to do
        return "a program that has just begun" if _age_s(folder) < JUST_BEGUN_S else ""
    return "a sweep" if held else ""


def _age_s(folder: Path) -> float:
    try:
        return time.time() - folder.stat().st_mtime
    except OSError:
        return 0.0


def _user(users: Mapping[Path, int], folder: Path) -> str:
    return owner_of(users[folder]) if folder in users else ""


def _byte_code_folders(here: Path) -> Iterator[Path]:
    """Yield the ``__pycache__`` folders of one's own modules, not those of environments.

    None in a folder that holds more than a project: home, and those above it.
    """
    home = Path(os.environ.get("HOME") or "/").resolve()
    if here.resolve() in (home, *home.parents):
        return
    for folder, names, _ in os.walk(here):
        if "__pycache__" in names:
            yield Path(folder, "__pycache__")
        names[:] = [
            name
            for name in sorted(names)
            if not name.startswith((".", "__pycache__"))
            and name not in _OF_OTHERS
            and not os.path.exists(f"{folder}/{name}/pyvenv.cfg")  # noqa: PTH110 - or unreadable
        ]


def _remove_all(folders: Iterable[Path]) -> None:
    for folder in folders:
        shutil.rmtree(folder)


def _size(path: Path) -> int:
    """Return the bytes that a folder has on the disk."""
    total = 0
    for folder, _, names in os.walk(path):
        for name in names:
            with suppress(OSError):
                total += Path(folder, name).lstat().st_blocks * 512
    return total


# -- the core locks


def _locked(folder: Path) -> str:
    """Return who holds one of the locks, in words; empty where nobody does."""
    for path in folder.glob("*.lock"):
        if not _with_lock(path, lambda _: None):
            return f"whoever holds {path.name}"
    return ""


def _remove_locks(folder: Path) -> None:
    """Remove the lock files, each while it is held, and then the folder.

    Raises:
        OSError: One belongs to another user, or is held.
    """
    for path in folder.glob("*.lock"):
        if not _with_lock(path, Path.unlink):
            raise BlockingIOError(f"{path} is held")
    folder.rmdir()


def _with_lock(path: Path, action: Callable[[Path], None]) -> bool:
    """Do something with a lock file while it is held here; return False where another holds it."""
    descriptor = open_lock(path)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        action(path)
    except BlockingIOError:
        return False
    finally:
        os.close(descriptor)
    return True
