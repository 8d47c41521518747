"""Pairs of runs: what the host was on each day is told from what was changed between them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from analysis.comparison.compare import Run
from analysis.comparison.sessions import compare_sessions
from orchestrator.errors import SweepError
from tests.analysis.comparison.test_compare import run_of
from tests.analysis.made_runs import products_run
from tests.conftest import RunCli


def pairs_of(
    seed: int, *, factor: float = 1.0, change: float = 1.0, num_pairs: int = 4, host: float = 0.05
) -> list[tuple[Run, Run]]:
    """Sessions that the host makes differ; all second runs ``change`` times as fast."""
    days = np.exp(host * np.random.default_rng(seed).standard_normal((num_pairs, 2)))
    return [
        (
            run_of(1000 * seed + 2 * number, day=one),
            run_of(1000 * seed + 2 * number + 1, factor=factor, day=other * change),
        )
        for number, (one, other) in enumerate(days)
    ]


def test_the_host_on_the_day_is_not_called_a_change() -> None:
    shown = different = 0
    for seed in range(60):
        comparison = compare_sessions(pairs_of(seed))
        (common,) = comparison.common
        shown += not common.low <= 1 <= common.high
        different += bool(comparison.table["different"].any())
    assert shown <= 7  # 3 expected; more than 7 comes once in 100
    assert different <= 7


def test_a_change_that_all_have_in_common_is_shown_and_is_no_configs_own() -> None:
    comparison = compare_sessions(pairs_of(1, change=1.3, num_pairs=6))
    (common,) = comparison.common
    assert common.low < 1.3 < common.high
    assert common.low > 1
    assert "over 6 pairs of runs: a change that all have in common is shown" in common.text
    assert not comparison.table["different"].any()


def test_a_config_that_changed_by_itself_is_found() -> None:
    table = compare_sessions(pairs_of(2, factor=1.15, num_pairs=5)).table
    assert table.loc[table["different"], "params.num_workers"].tolist() == [6]
    row = table.iloc[0]
    assert row["own_low"] < 1.15 < row["own_high"]
    assert row["runs_first"] == 15
    assert row["high"] / row["low"] > row["own_high"] / row["own_low"], "the days are in it"


def test_single_runs_are_enough_where_there_are_pairs_of_them() -> None:
    pairs = [
        (run_of(seed, repeats=1), run_of(seed + 50, repeats=1, factor=1.3)) for seed in range(4)
    ]
    table = compare_sessions(pairs).table
    assert table.loc[table["different"], "params.num_workers"].tolist() == [6]


def test_pairs_of_another_machine_are_refused() -> None:
    pairs = pairs_of(3, num_pairs=2)
    moved = [
        Run(
            trials=run.trials,
            sweep={**run.sweep, "hardware": {**run.sweep["hardware"], "cpu_model": "EPYC"}},
        )
        for run in pairs[1]
    ]
    with pytest.raises(SweepError, match=r"hardware.cpu_model: Xeon 2.2 GHz and EPYC"):
        compare_sessions([pairs[0], (moved[0], moved[1])])


def test_the_command_takes_pairs(run_cli: RunCli, tmp_path: Path) -> None:
    runs = [products_run(seed=seed).write(tmp_path / f"run-{seed}") for seed in range(4)]
    done = run_cli("compare", runs[0], runs[1], "--again", runs[2], runs[3], module="analysis")
    assert done.returncode == 0, done.stderr
    assert "second over first, 2 pairs of runs" in done.stdout
    assert "over 2 pairs of runs" in done.stdout
    alone = run_cli("compare", runs[0], runs[1], "--again", runs[2], module="analysis")
    assert alone.returncode == 2
    assert "--again" in alone.stderr
