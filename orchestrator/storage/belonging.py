"""Whether the files of a run directory are of one run: they may have been swapped or copied."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from orchestrator.errors import RunDirectoryError
from orchestrator.kernel.events import Opened
from orchestrator.kernel.journal import read_journal
from orchestrator.storage.files import RunFile
from orchestrator.storage.history import key_of
from orchestrator.storage.sweep_record import FORMAT, SweepRecord

RUN_KEY: Final = "run"
"""Attribute of a run's tables, and key in ``recommended.json``: the key of the run they are of."""

_ASKED: Final = ("trainable", "objectives", "space", "fixed", "baseline", "seed")
"""Fields of a record that no resumption of a run changes."""


def key_of_run(run_dir: Path, record: SweepRecord) -> str:
    """Return the key of a directory's run, by its journal; empty where that cannot be read.

    Args:
        run_dir: The directory.
        record: What its ``sweep.json`` says.

    Raises:
        RunDirectoryError: The journal is of another sweep than ``sweep.json``, or of a later
            version of this program.
    """
    path = run_dir / RunFile.JOURNAL
    try:
        first = next(read_journal(path), None)
        if not isinstance(first, Opened):
            return ""
        started = SweepRecord.from_json(first.sweep, str(path))
    except (FileNotFoundError, RunDirectoryError):
        return ""  # tables are read without it, and a resumption reports what is wrong with it
    if not isinstance(started.format, int) or started.format > FORMAT:
        raise RunDirectoryError(
            f"{path}: is of format {started.format}, this version reads up to {FORMAT}",
            "use the version that wrote it",
        )
    ours, theirs = record.to_json(), started.to_json()
    for name in _ASKED if record.format == started.format else ():
        if ours[name] != theirs[name]:
            raise RunDirectoryError(
                f"{run_dir}: its {RunFile.SWEEP} and its {RunFile.JOURNAL} are of two runs: "
                f"{name} is {ours[name]!r:.200} in the one, {theirs[name]!r:.200} in the other",
                "put back the file that belongs there",
            )
    return key_of(first)


def journalled_key(run_dir: Path) -> str:
    """Return the key of a directory's run; empty where its journal has not begun, or is damaged."""
    try:
        first = next(read_journal(run_dir / RunFile.JOURNAL), None)
    except (FileNotFoundError, RunDirectoryError):
        return ""
    return "" if first is None else key_of(first)


def is_of_another(run: object, key: str) -> bool:
    """Return True if a file is of another run.

    Args:
        run: The key that it was written with; None or empty: with none, as of earlier versions.
        key: Key of the run whose directory it is in; empty where it is not known.
    """
    return bool(run and key) and run != key


def require_table_of(key: str, attributes: Mapping[Any, Any], path: Path) -> None:
    """Refuse a table that was made of another run.

    Args:
        key: Key of the run; empty where it is not known.
        attributes: Attributes of the table; earlier versions wrote none.
        path: Its file.

    Raises:
        RunDirectoryError: It is another run's.
    """
    if is_of_another(attributes.get(RUN_KEY), key):
        raise RunDirectoryError(
            f"{path}: is the table of another run",
            f"write the tables again: python -m orchestrator --resume {path.parent}",
        )
