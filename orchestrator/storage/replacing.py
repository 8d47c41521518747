"""Files written under another name in their folder and renamed: a reader never sees half of one."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from secrets import token_hex
from typing import Final

_SHOWN: Final = 40
"""Characters of a name that the temporary one has: no name may be longer than 255 bytes."""
_ABANDONED_S: Final = 3600.0
"""Age from which on a temporary file is one of a process that was killed."""


def replace_file(path: Path, write: Callable[[Path], object]) -> None:
    """Write a file under a temporary name and rename it.

    Raises:
        OSError: It cannot be written, and names ``path``; nothing is left of it.
    """
    with renamed_to(path) as temporary:
        # A new file: nothing that lies there is written to, nor where a link leads.
        temporary.touch(exist_ok=False)
        write(temporary)


@contextmanager
def renamed_to(path: Path) -> Iterator[Path]:
    """Yield the name of a file or folder to make in the folder of ``path``; rename it at the end.

    No other process has that name: two may write the same file at once, and the last one stays.

    Raises:
        OSError: That cannot be done, and names ``path``; nothing is left of it.
    """
    temporary = path.with_name(f".{path.name[:_SHOWN]}.{token_hex(8)}.tmp")
    try:
        yield temporary
        temporary.replace(path)
    except OSError as error:
        # One without a number is a sentence alone, as pandas raises it.
        if error.errno is not None and error.filename in (None, str(temporary)):
            error.filename = str(path)
            del error.filename2
        raise
    finally:
        _remove(temporary)


def remove_abandoned(folder: Path) -> None:
    """Remove the temporary files that killed processes have left in ``folder``."""
    for path in folder.glob(".*.tmp"):
        with suppress(OSError):
            if time.time() - path.lstat().st_mtime > _ABANDONED_S:
                _remove(path)


def _remove(path: Path) -> None:
    with suppress(OSError):
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)
