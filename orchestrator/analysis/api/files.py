"""Export: a run's tables, or a frame, as files for other programs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd

from orchestrator.analysis.api.checks import Source, checked_frame
from orchestrator.analysis.api.runs import configs, describe, pareto_front
from orchestrator.analysis.columns import TableError
from orchestrator.analysis.tables.run_tables import RunTables
from orchestrator.errors import nearest, refusing_os_errors
from orchestrator.storage.files import replace_file

FORMATS: Final = ("csv", "parquet")

FORMULA: Final = ("=", "+", "-", "@", "\t", "\r", "\n", "'")
"""First characters of text that a spreadsheet may take for a formula, and the escape itself."""


def export(
    source: Source, folder: str | Path, format: str = "csv", *, name: str = "table"
) -> list[Path]:
    """Write a run's tables, or a frame, into a folder.

    For a run: ``trials``, ``configs``, ``front``, ``curves``, ``steps``, ``columns`` (unit and
    meaning of each column) and, for a factored search, ``candidates``. Files of these names are
    replaced.

    In ``csv`` a list or tuple is JSON text, ``["a", "b"]``. Text that begins with ``= + - @ '``, a
    tab or a line break gets a ``'`` before it, so that no spreadsheet runs it. In ``parquet`` lists
    are lists, and nothing is escaped.

    Args:
        source: A run, or a frame.
        folder: The folder to write to; it is created.
        format: ``csv`` or ``parquet``.
        name: For a frame: the file's name without its ending.

    Returns:
        The files that were written.

    Raises:
        TableError: The format is unknown.
        SweepError: The folder cannot be written.
    """
    if format not in FORMATS:
        raise TableError(
            f"export: unknown format {format!r}{nearest(str(format), FORMATS)}",
            f"formats: {', '.join(FORMATS)}",
        )
    tables = _tables_of(source, name)
    folder = Path(folder)
    with refusing_os_errors("another folder is given by --out DIR on the command line"):
        folder.mkdir(parents=True, exist_ok=True)
        return [_write(folder / f"{title}.{format}", table) for title, table in tables.items()]


def _tables_of(run: Source, name: str) -> dict[str, pd.DataFrame]:
    if not isinstance(run, RunTables):
        return {name: checked_frame(run, "export")}
    made = configs(run)
    tables = {
        "trials": run.trials,
        "configs": made,
        "front": pareto_front(made),
        "curves": run.curves,
        "steps": run.steps,
        "columns": describe(run),
    }
    return tables | ({"candidates": run.candidates} if len(run.candidates) else {})


def _write(path: Path, table: pd.DataFrame) -> Path:
    table = table.reset_index(drop=True)
    kinds, is_csv = pd.api.types, path.suffix == ".csv"
    mixed = [
        name
        for name, dtype in table.dtypes.items()
        if kinds.is_object_dtype(dtype) or (is_csv and kinds.is_string_dtype(dtype))
    ]
    convert = _cell if is_csv else _as_list
    table = table.assign(**{str(n): table[n].astype(object).map(convert) for n in mixed})
    if is_csv:
        replace_file(path, lambda to: table.to_csv(to, index=False))
    else:
        replace_file(path, lambda to: table.to_parquet(to, index=False))
    return path


def _as_list(cell: object) -> object:
    """Return a tuple as a list, for which Arrow has a type."""
    return list(cell) if isinstance(cell, (tuple, np.ndarray)) else cell


def _cell(cell: Any) -> Any:  # noqa: ANN401 - whatever the table contains
    """Return text, lists and tuples as a spreadsheet may read them."""
    if isinstance(cell, (list, tuple, np.ndarray)):
        return json.dumps(list(cell), default=str)
    if isinstance(cell, str) and cell.startswith(FORMULA):
        return f"'{cell}"
    return cell
