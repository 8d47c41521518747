"""Export: a run's tables, or a frame, as files for other programs."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd

from orchestrator.analysis.api.checks import Source, checked_frame
from orchestrator.analysis.api.fronts import pareto_front
from orchestrator.analysis.api.runs import configs, describe
from orchestrator.analysis.columns import TableError
from orchestrator.analysis.tables.run_tables import RunTables
from orchestrator.errors import nearest, refusing_os_errors
from orchestrator.storage.replacing import replace_file

FORMATS: Final = ("csv", "parquet", "arrow", "xlsx")

FORMULA: Final = ("=", "+", "-", "@", "\t", "\r", "\n", "'")
"""First characters of text that a spreadsheet may take for a formula, and the escape itself."""

_SHEET_ROWS: Final = 1_048_575
_CELL_CHARACTERS: Final = 32_767
_CONTROL: Final = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f]")
"""Characters that a workbook cannot hold."""


def export(
    source: Source, folder: str | Path, format: str = "csv", *, name: str = "table"
) -> list[Path]:
    """Write a run's tables, or a frame, into a folder.

    Of a run: ``trials``, ``configs``, ``front``, ``curves``, ``steps``, ``columns`` (unit and
    meaning of each column) and, of a factored search, ``candidates``. Files of these names are
    replaced.

    In ``csv`` and ``xlsx`` a list or tuple is JSON text, ``["a", "b"]``. Text that begins with
    ``= + - @ '``, a tab or a line break gets a ``'`` before it, so that no spreadsheet runs it. In
    ``parquet`` and ``arrow`` (the Arrow file format) lists are lists, and nothing is escaped. A
    workbook keeps 16 digits of a figure, and times as text; the others keep all.

    Args:
        source: A run, or a frame.
        folder: Where to; it is made.
        format: ``csv``, ``parquet``, ``arrow`` or ``xlsx``: one workbook with a sheet a table.
        name: Of a frame: the file's name without its ending.

    Returns:
        The files that were written.

    Raises:
        TableError: The format is unknown, or a workbook cannot hold the table.
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
        if format == "xlsx":
            stem = source.sweep.name if isinstance(source, RunTables) else name
            path = folder / f"{stem}.xlsx"
            _write_workbook(path, {title: _as_text(table) for title, table in tables.items()})
            return [path]
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
    writers: Mapping[str, Callable[[Path], object]] = {
        ".csv": lambda to: _as_text(table).to_csv(to, index=False),
        ".parquet": lambda to: _with_lists(table).to_parquet(to, index=False),
        ".arrow": lambda to: _with_lists(table).to_feather(to),
    }
    replace_file(path, writers[path.suffix])
    return path


def _with_lists(table: pd.DataFrame) -> pd.DataFrame:
    """Return the table with tuples as lists, which Arrow has a type for."""
    mixed = [n for n in table.columns if pd.api.types.is_object_dtype(table[n].dtype)]
    return table.assign(**{name: table[name].map(_as_list) for name in mixed})


def _as_list(cell: object) -> object:
    return list(cell) if isinstance(cell, (tuple, np.ndarray)) else cell


def _as_text(table: pd.DataFrame) -> pd.DataFrame:
    """Return the table with its text, lists and tuples as a spreadsheet may read them."""
    return table.assign(**{name: table[name].astype(object).map(_cell) for name in _text(table)})


def _text(table: pd.DataFrame) -> list[str]:
    """Return the columns that may hold text."""
    kinds = pd.api.types
    return [
        name
        for name in table.columns
        if kinds.is_object_dtype(table[name].dtype) or kinds.is_string_dtype(table[name].dtype)
    ]


def _cell(cell: Any) -> Any:  # noqa: ANN401 - whatever the table holds
    if isinstance(cell, (list, tuple, np.ndarray)):
        return json.dumps(list(cell), default=str)
    if isinstance(cell, str) and cell.startswith(FORMULA):
        return f"'{cell}"
    return cell


def _write_workbook(path: Path, tables: Mapping[str, pd.DataFrame]) -> None:
    for title, table in tables.items():
        _check_fits(title, table)

    def write(to: Path) -> None:
        with to.open("wb") as file, pd.ExcelWriter(file, engine="openpyxl") as book:
            for title, table in tables.items():
                _for_workbook(table).to_excel(book, sheet_name=title[:31], index=False)

    replace_file(path, write)


def _check_fits(title: str, table: pd.DataFrame) -> None:
    if len(table) > _SHEET_ROWS:
        raise TableError(
            f"export: {title} has {len(table):,} rows, a workbook's sheet {_SHEET_ROWS:,}",
            "take format='parquet' or 'csv'",
        )
    for name in _text(table):
        lengths = table[name].map(lambda cell: len(cell) if isinstance(cell, str) else 0)
        if lengths.max() > _CELL_CHARACTERS:
            raise TableError(
                f"export: a cell of {name} in {title} has {lengths.max():,} characters, "
                f"a workbook's {_CELL_CHARACTERS:,}",
                "take format='parquet' or 'csv'",
            )


def _for_workbook(table: pd.DataFrame) -> pd.DataFrame:
    """Return the table with what a workbook cannot hold as text: time zones, control characters."""
    times = table.select_dtypes(include="datetimetz").columns
    table = table.assign(**{name: table[name].map(_iso, na_action="ignore") for name in times})
    return table.assign(**{name: table[name].map(_without_control) for name in _text(table)})


def _iso(time: pd.Timestamp) -> str:
    return time.isoformat(timespec="milliseconds")


def _without_control(cell: object) -> object:
    return _CONTROL.sub("\N{REPLACEMENT CHARACTER}", cell) if isinstance(cell, str) else cell
