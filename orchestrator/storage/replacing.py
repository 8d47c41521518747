"""Files written beside their place and renamed: a reader never sees half of one."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from secrets import token_hex
from typing import Final

_SHOWN: Final = 40
"""Characters of a name that the one beside it has: no name may be longer than 255 bytes."""


def replace_file(path: Path, write: Callable[[Path], object]) -> None:
    """Write a file beside ``path`` and rename it: a reader never sees half of it.

    Raises:
        OSError: It cannot be written, and names ``path``; nothing is left of it.
    """
    with renamed_to(path) as beside:
        # A new file: nothing that lies there is written to, nor where a link leads.
        beside.touch(exist_ok=False)
        write(beside)


@contextmanager
def renamed_to(path: Path) -> Iterator[Path]:
    """Give the name of a file or folder to make beside ``path``; it is renamed at the end.

    No other process has that name: two may write the same file at once, and the last one stays.

    Raises:
        OSError: That cannot be done, and names ``path``; nothing is left beside it.
    """
    beside = path.with_name(f".{path.name[:_SHOWN]}.{token_hex(8)}.tmp")
    try:
        yield beside
        beside.replace(path)
    except OSError as error:
        _name(error, path, beside)
        raise
    finally:
        with suppress(OSError):
            _remove(beside)


def _name(error: OSError, path: Path, beside: Path) -> None:
    """Have an error name the file that the user knows, unless it is about another one."""
    # One without a number is a sentence alone, as pandas raises it.
    if error.errno is not None and error.filename in (None, str(beside)):
        error.filename = str(path)
        del error.filename2


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
