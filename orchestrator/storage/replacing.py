"""Files written under another name in their folder and renamed: a reader never sees half of one."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from secrets import token_hex
from typing import Final

_SHOWN: Final = 40
"""Characters of a name that the temporary one has: no name may be longer than 255 bytes."""


def replace_file(path: Path, write: Callable[[Path], object]) -> None:
    """Write a file under a temporary name and rename it.

    Raises:
        OSError: It cannot be written, and names ``path``; nothing is left of it.
    """
    with renamed_to(path) as temporary:
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
        with suppress(OSError):
            if temporary.is_dir():
                shutil.rmtree(temporary)
            else:
                temporary.unlink(missing_ok=True)
