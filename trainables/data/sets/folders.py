"""Folders that a user names; the error names what is in their place."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from orchestrator.errors import DataError, nearest

_NUM_SHOWN = 12


def set_folder(given: str, places: Sequence[str], *, holds: str) -> Path:
    """The folder of a data set: ``given``, or one of ``places`` in it.

    Args:
        given: Name or path from the user.
        places: Paths of the set's own folder, relative to a data root.
        holds: Pattern of a file or folder that is in the set's own folder.

    Returns:
        An absolute path: trials run in other folders than the driver.

    Raises:
        DataError: Neither is as expected; the message has what was found, and the nearest name.
    """
    folder = existing_folder(given)
    for candidate in (folder, *(folder / place for place in places)):
        if any(candidate.glob(holds)):
            return candidate
    raise something_else(folder, [*places, holds])


def folder_and_part(given: str) -> tuple[str, str]:
    """Split ``FOLDER@PART``; the part is empty where none is named."""
    folder, _, part = given.rpartition("@")
    return (folder, part) if folder and not Path(given).expanduser().is_dir() else (given, "")


def existing_folder(given: str) -> Path:
    """The absolute path of a folder.

    Raises:
        DataError: There is none; names the nearest one.
    """
    folder = Path(given).expanduser().absolute()
    if folder.is_dir():
        return folder
    beside = folder.parent.iterdir() if folder.parent.is_dir() else ()
    guess = nearest(folder.name, (entry.name for entry in beside if entry.is_dir()))
    raise DataError(f"there is no folder {folder}{guess}")


def something_else(folder: Path, wanted: Sequence[str]) -> DataError:
    """The error for a folder with none of ``wanted``."""
    found = sorted(entry.name for entry in folder.iterdir())
    guesses = (nearest(Path(name).parts[0], found) for name in wanted)
    return DataError(
        f"{folder} holds none of {', '.join(map(repr, wanted))}{next(filter(None, guesses), '')}",
        f"found there: {', '.join(found[:_NUM_SHOWN]) or 'nothing'}",
    )
