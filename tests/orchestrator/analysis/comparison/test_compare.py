"""Two runs compared config by config."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd
import pytest
from scipy.stats import gmean

from orchestrator.analysis.comparison.changes import Verdict
from orchestrator.analysis.comparison.compare import compare
from orchestrator.analysis.comparison.text import common_text
from orchestrator.metrics import Goal
from tests.orchestrator.analysis.comparison.drawn import SPEED, run_of, with_cells, with_sweep
from tests.orchestrator.analysis.made_runs import MadeRun


def test_runs_that_never_reported_the_accuracy_are_compared_by_their_speed() -> None:
    first, second = (
        replace(run, trials=run.trials.drop(columns="metrics.val_acc"))
        for run in (run_of(1), run_of(2, factor=1.3))
    )
    table = compare(first, second).table
    assert table["different"].tolist() == [True, False, False, False]
    assert table[["accuracy_first", "accuracy_second"]].isna().all(axis=None)


def test_ratios_are_of_geometric_means() -> None:
    first, second = run_of(1), run_of(2, repeats=4, factor=1.1)
    row = compare(first, second).table.set_index("params.num_workers").loc[6]
    means = [
        run.trials.loc[run.trials["params.num_workers"] == 6, SPEED].agg(gmean)
        for run in (first, second)
    ]
    assert (row["speed_first"], row["speed_second"]) == pytest.approx(tuple(means))
    assert row["ratio"] == pytest.approx(means[1] / means[0])
    assert (row["runs_first"], row["runs_second"]) == (3, 4)
    assert row["low"] < row["ratio"] < row["high"]


def test_of_a_minimized_speed_the_smaller_is_the_faster() -> None:
    first, second = run_of(1), run_of(2, factor=1.3)
    objectives = (replace(first.sweep.objectives[0], goal=Goal.MINIMIZE), first.sweep.objectives[1])
    table = compare(*(with_sweep(run, objectives=objectives) for run in (first, second))).table
    assert table.iloc[0]["ratio"] == pytest.approx(1 / 1.3, rel=0.05)


@pytest.mark.parametrize("day", [0.9, 1.0, 1.2])
def test_a_planted_difference_is_found_and_only_there(day: float) -> None:
    comparison = compare(run_of(1, repeats=5), run_of(2, repeats=5, factor=1.15, day=day))
    table = comparison.table
    assert table.loc[table["different"], "params.num_workers"].tolist() == [6]
    row = table[table["different"]].iloc[0]
    assert row["own"] == pytest.approx(1.15, rel=0.03)
    assert row["own_low"] < 1.15 < row["own_high"]
    assert row["ratio"] == pytest.approx(1.15 * day, rel=0.03)
    (common,) = comparison.common
    assert common.ratio == pytest.approx(day, rel=0.03)
    assert (common.low <= 1 <= common.high) == (day == 1.0)


def test_a_single_config_has_no_change_of_its_own() -> None:
    first, second = (
        replace(run, trials=run.trials[run.trials["params.num_workers"] == 6])
        for run in (run_of(1), run_of(2, factor=1.5))
    )
    comparison = compare(first, second)
    row = comparison.table.iloc[0]
    assert not row["different"]
    assert pd.isna(row["own"])
    assert row["low"] > 1.3
    assert "one config, 1.5" in common_text(comparison.common[0])


def test_a_single_run_borrows_the_spread_of_the_others() -> None:
    comparison = compare(run_of(1, repeats=1), run_of(2, factor=2.0))
    table = comparison.table
    assert table["different"].tolist() == [True, False, False, False]
    assert table["low"].notna().all()


def test_without_any_repeats_there_is_no_verdict() -> None:
    comparison = compare(run_of(1, repeats=1), run_of(2, repeats=1, factor=0.5))
    table = comparison.table
    assert table["p_value"].isna().all()
    assert not table["different"].any()
    assert table[["low", "own"]].isna().all(axis=None)
    assert comparison.verdict is Verdict.NOT_DECIDED
    assert "is not known: too few runs" in comparison.sentence


def test_of_single_runs_of_four_configs_the_common_change_has_no_interval() -> None:
    (common,) = compare(run_of(1, repeats=1), run_of(2, repeats=1)).common
    assert common.num_configs == 4
    assert pd.isna(common.low)


def test_stages_are_compared_apart(made: MadeRun) -> None:
    table = compare(made.tables, made.tables).table
    assert table["stage"].value_counts().to_dict() == {"train": 24, "confirm": 2}


def test_another_source_of_the_trainable_is_a_note() -> None:
    first, second = run_of(1), run_of(2)
    assert compare(first, second).notes == ()
    notes = compare(with_sweep(first, source_hash="a"), with_sweep(second, source_hash="b")).notes
    assert "source differs" in notes[0]


def test_runs_that_did_not_complete_are_left_out() -> None:
    first, second = run_of(1), run_of(2)
    state = second.trials["state"].mask(second.trials["params.num_workers"] == 8, "stopped")
    table = compare(first, with_cells(second, state=state)).table
    assert 8 not in table["params.num_workers"].tolist()
    assert pd.api.types.is_bool_dtype(table["different"])
