"""Durations of earlier trials, read from the runs that they are of."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import pytest

from orchestrator.driver.planning.durations import Earlier, earlier_trials
from orchestrator.space.domains import choice
from tests.orchestrator.driver.plans import Config, earlier_run, sweep


def earlier_in(folder: Path) -> Earlier | None:
    asked = sweep(space=Config(workers=choice(0, 2)), epochs=3)
    return earlier_trials(sorted(folder.glob("*")), asked, 4, "digits")


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


@pytest.mark.parametrize(
    "other", [{"epochs": 5}, {"cores": 2}, {"data": "mnist"}, {"amp": "fp16"}, {"workers": 0}]
)
def test_trials_of_another_kind_do_not_count(tmp_path: Path, other: dict[str, Any]) -> None:
    earlier_run(tmp_path, "other", {"20.0": "completed"}, **other)
    assert earlier_in(tmp_path) is None


@pytest.mark.parametrize("cells", [{"stage": "probe"}, {"tags.interleaved": "true"}], ids=str)
def test_trials_that_do_not_train_in_one_piece_do_not_count(
    tmp_path: Path, cells: dict[str, str]
) -> None:
    earlier_run(tmp_path, "a", {"20.0": "completed"})
    change_rows(tmp_path / "a", **cells)
    assert earlier_in(tmp_path) is None


def test_runs_that_cannot_be_read_do_not_hide_those_that_can(tmp_path: Path) -> None:
    for name in ("unfinished", "broken", "of_strings", "whole"):
        earlier_run(tmp_path, name, {"20.0": "completed"})
    (tmp_path / "unfinished" / "trials.csv").unlink()
    (tmp_path / "broken" / "sweep.json").write_text("{")
    change_rows(tmp_path / "of_strings", started_at="yesterday")
    assert earlier_in(tmp_path) == Earlier(num_trials=1, median_s=20.0)
