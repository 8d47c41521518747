"""One JSON document on standard output."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterable, Mapping
from typing import Any, Final

import pandas as pd

from orchestrator.analysis.columns import config_of
from orchestrator.errors import SweepError
from orchestrator.storage.sweep_record import SweepRecord
from orchestrator.system.streams import require_written

SCHEMA_VERSION: Final = 1
"""Rises where a key goes or changes its meaning; new keys may come without."""


def write_document(command: str, content: Mapping[str, Any]) -> None:
    """Write ``schema_version``, ``command`` and the content; what is not known is null.

    Raises:
        SweepError: It cannot be written: whoever reads it goes by the exit code.
    """
    document = {"schema_version": SCHEMA_VERSION, "command": command, **content}
    try:
        sys.stdout.write(json.dumps(plain(document), indent=2, allow_nan=False) + "\n")
        require_written(sys.stdout)
    except OSError as error:
        raise SweepError(
            f"--json: the document cannot be written: {error.strerror or error}"
        ) from None


def plain(value: Any) -> Any:  # noqa: ANN401 - whatever is to be written
    """Return a value as JSON has it: NaN, infinite and missing figures are None."""
    if isinstance(value, Mapping):
        return {str(key): plain(entry) for key, entry in value.items()}
    if isinstance(value, str):
        return str(value)
    if isinstance(value, Iterable):
        return [plain(entry) for entry in value]
    if value is None or value is pd.NaT or value is pd.NA:
        return None
    value = value.item() if hasattr(value, "item") else value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if isinstance(value, (bool, int)) else str(value)


def rows_of(table: pd.DataFrame, sweep: SweepRecord) -> list[dict[str, Any]]:
    """Return a table's rows: the knobs as ``config``, other columns by their short names."""
    return [
        {
            "config": config_of(row, sweep),
            **{
                str(name).removeprefix("metrics."): cell
                for name, cell in row.items()
                if not str(name).startswith("params.")
            },
        }
        for row in table.to_dict("records")
    ]
