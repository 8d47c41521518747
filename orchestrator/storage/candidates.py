"""``candidates.parquet``: the configs of a factored search, trained or not, and the knobs' roles.

The analysis composes figures of these configs alone. The roles are those that the sweep declares;
once the search has checked them, those that it has found.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import pandas as pd

from orchestrator.space.knob import Role
from orchestrator.storage.files import RunFile
from orchestrator.storage.history import cell_text
from orchestrator.storage.replacing import replace_file
from orchestrator.storage.sweep_record import KnobRecord
from orchestrator.storage.tables import trial_dtypes, typed

ROLES: Final = "roles"
"""Key of the roles among the table's attributes, which Parquet keeps."""


def candidates_table(
    names: Sequence[str],
    configs: Iterable[Sequence[Any]],
    knobs: Mapping[str, KnobRecord],
    roles: Mapping[str, Role],
) -> pd.DataFrame:
    """Return one row a config, typed as in the trials table.

    Args:
        names: The knobs, in the order of the values of each config.
        configs: Values of the knobs, a config each.
        knobs: The knobs of the trainable by name.
        roles: Role of each knob.
    """
    rows = pd.DataFrame(list(configs), columns=[f"params.{name}" for name in names], dtype=object)
    tuples = [name for name in rows.columns if rows[name].map(type).isin([tuple, list]).any()]
    rows = rows.assign(**{name: rows[name].map(cell_text) for name in tuples})
    dtypes = trial_dtypes(knobs, [])
    table = typed(rows, {name: dtypes[name] for name in rows.columns})
    return with_roles(table, roles)


def with_roles(table: pd.DataFrame, roles: Mapping[str, Role]) -> pd.DataFrame:
    """Return the same configs with other roles of the knobs."""
    table = table.copy(deep=False)
    table.attrs = {**table.attrs, ROLES: {name: str(role) for name, role in roles.items()}}
    return table


def write_candidates(run_dir: Path, table: pd.DataFrame) -> None:
    """Write ``candidates.parquet``.

    Raises:
        OSError: It cannot be written.
    """
    replace_file(run_dir / RunFile.CANDIDATES, lambda path: table.to_parquet(path, index=False))


def roles_of(candidates: pd.DataFrame) -> dict[str, Role]:
    """Return the roles that the table was written with; {} for one without."""
    return {name: Role(role) for name, role in candidates.attrs.get(ROLES, {}).items()}
