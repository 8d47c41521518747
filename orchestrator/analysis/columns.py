"""The trials table's columns: their names and what their cells mean."""

import math
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from orchestrator.errors import SweepError
from orchestrator.storage.history import cell_text
from orchestrator.storage.sweep_record import KnobRecord, SweepRecord


class TableError(SweepError, ValueError):
    """Table, or an argument about one, that is not enough to answer a question."""


Config = dict[str, Any]
"""One value for every knob, as plain Python values; tuples for knobs that are tuples."""


def params_of(trials: pd.DataFrame) -> list[str]:
    """Return the ``params.`` columns, in the table's order."""
    return [column for column in trials.columns if column.startswith("params.")]


def metrics_of(trials: pd.DataFrame) -> list[str]:
    """Return the ``metrics.`` columns, in the table's order."""
    return [column for column in trials.columns if column.startswith("metrics.")]


def curve_ids_of(configs: pd.DataFrame) -> "pd.Series[Any]":
    """Return the trials that what each config has learned is of."""
    return configs["curve_ids" if "curve_ids" in configs else "trial_ids"]


def config_of(row: Mapping[Any, Any], sweep: SweepRecord) -> Config:
    """Return the config of a table's row, in plain Python values."""
    return {
        name: _value(row[f"params.{name}"], knob)
        for name, knob in sweep.knobs.items()
        if f"params.{name}" in row
    }


def configs_of(rows: pd.DataFrame, sweep: SweepRecord) -> list[Config]:
    """Return the config of each of a table's rows, in their order."""
    return [config_of(row, sweep) for row in rows[params_of(rows)].to_dict("records")]


def _value(cell: Any, knob: KnobRecord) -> Any:  # noqa: ANN401 - the knob's own type
    """Return a cell as the knob's own type; the table stores tuples and mixed options as text."""
    default = knob.default
    if options := knob.options:
        return next((option for option in options if str(option) == str(cell)), cell)
    if isinstance(default, (tuple, list)):
        return tuple(int(part) for part in cell_text(cell).split(","))
    return type(default)(cell)


def rows_of(trials: pd.DataFrame, config: Mapping[str, Any]) -> "pd.Series[bool]":
    """Return True for the rows of a config; ignore knobs that the table does not have."""
    same = np.ones(len(trials), dtype=bool)
    for name, value in config.items():
        if f"params.{name}" in trials.columns:
            same &= _equal(trials[f"params.{name}"], value)
    return pd.Series(same, index=trials.index, dtype="bool")


def varying_params_of(trials: pd.DataFrame) -> list[str]:
    """Return the ``params.`` columns that distinguish rows; at least one if there are any."""
    params = params_of(trials)
    if len(trials) < 2:
        return params[:1]
    varying = [
        name
        for name in params
        if trials[name].dtype == object or not _equal(trials[name], trials[name].iloc[0]).all()
    ]
    return varying or params[:1]


def _equal(cells: "pd.Series[Any]", value: object) -> npt.NDArray[np.bool_]:
    wanted = cell_text(value) if pd.api.types.is_string_dtype(cells.dtype) else value
    if cells.dtype == object:
        return (cells == wanted).fillna(False).to_numpy(dtype=bool)
    # With hundreds of constants in a sweep, a series for each took half of the report's time.
    has_numpy = isinstance(cells.dtype, np.dtype)
    same: Any = cells.to_numpy() == wanted if has_numpy else cells.array == wanted
    return same if isinstance(same, np.ndarray) else same.to_numpy(dtype=bool, na_value=False)


def plain(value: Any, *, digits: int | None = None) -> Any:  # noqa: ANN401 - whatever it is
    """Return a value as JSON has it: lists, plain figures, None for a figure that is not known.

    Args:
        value: Any value.
        digits: Significant digits of a figure; None for all.
    """
    value = value.tolist() if hasattr(value, "tolist") else value
    if isinstance(value, float):
        shown = value if digits is None else float(f"{value:.{digits}g}")
        return shown if math.isfinite(value) else None
    if value is None or isinstance(value, (bool, int)):
        return value
    if isinstance(value, Mapping):
        return {str(key): plain(part, digits=digits) for key, part in value.items()}
    if isinstance(value, Iterable) and not isinstance(value, str):
        return [plain(part, digits=digits) for part in value]
    return None if value is pd.NaT or value is pd.NA else str(value)


def write_csv(table: pd.DataFrame, path: Path) -> None:
    """Write a table without its index; of texts, a spreadsheet is to compute none.

    One that begins as a formula gets an apostrophe before it, unless it is a number.
    """
    table = table.rename(columns=_no_formula)
    for name, kind in table.dtypes.items():
        if kind.kind == "O" and not pd.api.types.is_numeric_dtype(kind):
            table[name] = table[name].map(_no_formula)
    table.to_csv(path, index=False)


def _no_formula(cell: Any) -> Any:  # noqa: ANN401 - whatever it is
    if not isinstance(cell, str) or not cell.startswith(("=", "+", "-", "@", "\t", "\r")):
        return cell
    try:
        float(cell)
    except ValueError:
        return f"'{cell}"
    return cell


def text_of(cell: object) -> str:
    """Return a text cell; ``""`` if it is empty."""
    return "" if cell is None or pd.isna(cell) else str(cell)  # type: ignore[call-overload]


def texts_of(rows: pd.DataFrame, column: str) -> "pd.Series[str]":
    """Return a column of text, ``""`` for empty cells, and where the table has no such column."""
    if column not in rows.columns:
        return pd.Series("", index=rows.index, dtype="str")
    return rows[column].astype("str").fillna("")


def numbers_of(rows: pd.DataFrame, column: str) -> "pd.Series[float]":
    """Return a column of numbers, NaN for empty cells, and where the table has no such column."""
    if column not in rows.columns:
        return pd.Series(np.nan, index=rows.index, dtype="float64")
    return rows[column].astype("float64")


def tagged(rows: pd.DataFrame, tag: str) -> "pd.Series[bool]":
    """Return True for the rows where ``tags.<tag>`` is neither empty nor a no."""
    return ~texts_of(rows, f"tags.{tag}").str.lower().isin(["", "false", "no", "0"])
