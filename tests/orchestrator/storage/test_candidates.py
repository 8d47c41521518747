"""``candidates.parquet``: typed as the trials table, and with the roles that were found."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from orchestrator.space.knob import Role
from orchestrator.storage.candidates import (
    candidates_table,
    roles_of,
    with_roles,
    write_candidates,
)
from orchestrator.storage.files import RunFile
from orchestrator.storage.sweep_record import KnobRecord

KNOBS = {
    "lr": KnobRecord(role=Role.LEARNING, default=0.1, allowed="a float > 0"),
    "workers": KnobRecord(role=Role.SYSTEMS, default=0, allowed="an int >= 0"),
    "fanouts": KnobRecord(role=Role.BOTH, default=(10, 25), allowed="a tuple of int"),
    "amp": KnobRecord(role=Role.BOTH, default=False, allowed="a bool"),
}
ROLES = {name: knob.role for name, knob in KNOBS.items()}
CONFIGS = [(0.1, 0, (10, 25), False), (1, 2, (5, 10), True)]


def table() -> pd.DataFrame:
    return candidates_table(tuple(KNOBS), CONFIGS, KNOBS, ROLES)


def test_cells_have_the_types_of_the_trials_table() -> None:
    made = table()
    assert [str(kind) for kind in made.dtypes] == ["float64", "Int64", "str", "boolean"]
    assert made["params.fanouts"].tolist() == ["10,25", "5,10"]


def test_they_are_read_as_they_were_written_with_the_roles(tmp_path: Path) -> None:
    write_candidates(tmp_path, table())
    read = pd.read_parquet(tmp_path / RunFile.CANDIDATES)
    pd.testing.assert_frame_equal(read, table())
    assert roles_of(read) == ROLES
    assert not list(tmp_path.glob(".*"))


def test_roles_that_were_found_replace_the_declared_ones() -> None:
    found = {**ROLES, "workers": Role.BOTH}
    declared = table()
    assert roles_of(with_roles(declared, found)) == found
    assert roles_of(declared) == ROLES
    assert roles_of(pd.DataFrame()) == {}
