"""Folders that a user names: found, or said what was found in their place."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from orchestrator.errors import DataError, nearest

_NUM_SHOWN = 12


def set_folder(given: str, places: Sequence[str], *, holds: str) -> Path:
    """The folder of a data set: ``given``, or one of ``places`` in it.

    Args:
        given: What the user said.
        places: Where the set's own folder is, relative to a data root.
        holds: Pattern of a file or folder that is in the set's own folder.

    Returns:
        An absolute path: trials run in other folders than the driver.

    Raises:
        DataError: Neither is what it should be; says what was found, and the nearest name.
    """
    folder = Path(given).expanduser().absolute()
    if not folder.is_dir():
        raise DataError(f"there is no folder {folder}{_nearest_path(folder)}")
    for candidate in (folder, *(folder / place for place in places)):
        if any(candidate.glob(holds)):
            return candidate
    found = sorted(entry.name for entry in folder.iterdir())
    wanted = Path(places[0]).parts[0]
    raise DataError(
        f"{folder} holds neither {holds!r} nor {' nor '.join(map(repr, places))}"
        f"{nearest(wanted, found)}",
        f"found there: {', '.join(found[:_NUM_SHOWN]) or 'nothing'}",
    )


def _nearest_path(folder: Path) -> str:
    if not folder.parent.is_dir():
        return ""
    return nearest(folder.name, (e.name for e in folder.parent.iterdir() if e.is_dir()))
