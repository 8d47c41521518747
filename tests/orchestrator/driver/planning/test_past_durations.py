"""Durations of earlier trials, read from the runs that they are of."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from orchestrator.driver.planning.past_durations import Earlier, Kind, earlier_trials
from orchestrator.storage.tables import trial_dtypes
from orchestrator.trial import Budget
from tests.orchestrator.driver.plans import earlier_run

KIND = Kind(
    budget=Budget(epochs=3),
    num_cores=4,
    data="digits",
    fixed={"lr": 0.1, "prefetch": 2, "ranks": 1, "amp": "off"},
)


def earlier_in(folder: Path, kind: Kind = KIND) -> Earlier | None:
    return earlier_trials(sorted(folder.glob("*")), kind)


def change_rows(run: Path, **cells: str) -> None:
    """Set columns of all rows of a run's table, new ones among them."""
    path = run / "trials.csv"
    with path.open(newline="") as file:
        rows = [row | cells for row in csv.DictReader(file)]
    with path.open("w", newline="") as file:
        table = csv.DictWriter(file, list(rows[0]))
        table.writeheader()
        table.writerows(rows)


def test_the_median_is_of_the_completed_trials_of_all_runs(tmp_path: Path) -> None:
    earlier_run(tmp_path, "a", {"20.0": "completed", "30.0": "completed", "999.0": "failed"})
    earlier_run(tmp_path, "b", {"70.0": "completed", "": "not_run"})
    assert earlier_in(tmp_path) == Earlier(num_trials=3, median_s=30.0)


def test_the_time_between_trials_counts(tmp_path: Path) -> None:
    walls = {"20.0": "completed", "20.5": "completed", "21.0": "completed"}
    earlier_run(tmp_path, "a", walls, between_s=2.0)
    # 22, 22.5 and 21: the last one has no other after it
    assert earlier_in(tmp_path) == Earlier(num_trials=3, median_s=22.0)


def test_trials_of_another_kind_tell_nothing(tmp_path: Path) -> None:
    earlier_run(tmp_path, "epochs", {"20.0": "completed"}, epochs=5)
    earlier_run(tmp_path, "cores", {"20.0": "completed"}, cores=2)
    earlier_run(tmp_path, "data", {"20.0": "completed"}, data="mnist")
    earlier_run(tmp_path, "fixed", {"20.0": "completed"}, amp="fp16")
    earlier_run(tmp_path, "varied", {"20.0": "completed"}, workers=0)
    assert earlier_in(tmp_path) is None


@pytest.mark.parametrize(
    "cells", [{"stage": "probe"}, {"tags.interleaved": "true"}], ids=["probes", "interleaved"]
)
def test_trials_that_do_not_train_in_one_piece_tell_nothing(
    tmp_path: Path, cells: dict[str, str]
) -> None:
    earlier_run(tmp_path, "a", {"20.0": "completed"})
    change_rows(tmp_path / "a", **dict.fromkeys(cells, "confirm"))
    assert earlier_in(tmp_path) is not None
    change_rows(tmp_path / "a", **cells)
    assert earlier_in(tmp_path) is None


def test_runs_that_cannot_be_read_do_not_hide_those_that_can(tmp_path: Path) -> None:
    for name in ("unfinished", "broken", "of_strings", "a_long_cell", "whole"):
        earlier_run(tmp_path, name, {"20.0": "completed"})
    change_rows(tmp_path / "a_long_cell", reason="x" * 200_000)
    (tmp_path / "unfinished" / "trials.csv").unlink()
    (tmp_path / "broken" / "sweep.json").write_text("{")
    change_rows(tmp_path / "of_strings", started_at="yesterday")
    (tmp_path / "mlflow.db").write_text("")
    assert earlier_in(tmp_path) == Earlier(num_trials=1, median_s=20.0)
    assert earlier_in(tmp_path / "nowhere") is None


def test_fixed_values_are_compared_as_a_file_has_them(tmp_path: Path) -> None:
    earlier_run(tmp_path, "a", {"20.0": "completed"}, fanouts=[10, 25])
    fixed = {**KIND.fixed, "fanouts": (10, 25)}
    kind = Kind(budget=KIND.budget, num_cores=4, data="digits", fixed=fixed)
    assert earlier_in(tmp_path, kind) == Earlier(num_trials=1, median_s=20.0)


def test_the_columns_that_are_read_are_those_of_the_tables() -> None:
    columns = list(trial_dtypes({}, ()))
    assert {"stage", "state", "cores", "started_at", "wall_s"} <= set(columns)
