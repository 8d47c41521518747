"""Pairs of runs: the host on the day is told apart from what was changed between the runs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from orchestrator.analysis.comparison.changes import judged
from orchestrator.analysis.comparison.compare import Comparison, with_changes
from orchestrator.analysis.comparison.pairs import ROW_KEYS
from orchestrator.analysis.comparison.sessions import combined, compare_sessions
from orchestrator.analysis.tables.run_tables import RunTables
from orchestrator.errors import SweepError
from tests.orchestrator.analysis.comparison.drawn import (
    CONFIGS,
    base_run,
    ratios_of,
    run_of,
    speed_of,
    with_sweep,
)


def pairs_of(
    seed: int, *, factor: float = 1.0, change: float = 1.0, num_pairs: int = 4, host: float = 0.05
) -> list[tuple[RunTables, RunTables]]:
    """Sessions that the host makes differ; all second runs ``change`` times as fast."""
    days = np.exp(host * np.random.default_rng(seed).standard_normal((num_pairs, 2)))
    return [
        (
            run_of(1000 * seed + 2 * number, day=one),
            run_of(1000 * seed + 2 * number + 1, factor=factor, day=other * change),
        )
        for number, (one, other) in enumerate(days)
    ]


def drawn_pair(rng: np.random.Generator, *, host: float) -> Comparison:
    """A pair of runs that differ in the host of the day alone."""
    rows = ratios_of(rng)
    speed = speed_of(rows.assign(log=rows["log"] + host * rng.standard_normal()))
    table = pd.DataFrame({"stage": "train", **dict.fromkeys(ROW_KEYS, "any")}, index=rows.index)
    table = table.assign(
        **{"params.num_workers": [config["num_workers"] for config in CONFIGS]},
        **dict.fromkeys(("runs_first", "runs_second", "clean_first", "clean_second"), 3),
        **dict.fromkeys(("accuracy_first", "accuracy_second"), 0.9),
        **dict.fromkeys(("speed_first", "speed_second"), 1000.0),
    )
    return Comparison(
        table=with_changes(table, speed),
        changes=judged([speed]),
        metric="samples_per_s",
        accuracy="val_acc",
        tolerance=0.03,
        sweep=base_run(3).sweep,
        mismatches={},
    )


def test_the_host_on_the_day_is_called_a_change_in_one_of_twenty() -> None:
    rng, num_draws = np.random.default_rng(0), 20
    shown = different = 0
    for _ in range(num_draws):
        comparison = combined([drawn_pair(rng, host=0.07) for _ in range(4)])
        common = comparison.common.iloc[0]
        shown += not common["low"] <= 1 <= common["high"]
        different += bool(comparison.table["different"].any())
    assert shown <= 4  # 1 expected; more comes once in 400
    assert different <= 4


def test_a_change_that_all_have_in_common_is_shown_and_is_no_configs_own() -> None:
    comparison = compare_sessions(pairs_of(1, change=1.3, num_pairs=6))
    common = comparison.common.iloc[0]
    assert 1 < common["low"] < 1.3 < common["high"]
    assert comparison.num_pairs == 6
    assert "the host on the day" not in comparison.common_texts[0]
    assert not comparison.table["different"].any()


def test_a_config_that_changed_by_itself_is_found() -> None:
    table = compare_sessions(pairs_of(2, factor=1.15, num_pairs=5)).table
    assert table.loc[table["different"], "params.num_workers"].tolist() == [6]
    row = table.iloc[0]
    assert row["own_low"] < 1.15 < row["own_high"]
    assert row["runs_first"] == 15
    assert row["high"] / row["low"] > row["own_high"] / row["own_low"], "the days are in it"


def test_pairs_of_another_machine_are_refused() -> None:
    first, second = pairs_of(3, num_pairs=2)
    hardware = {**first[0].sweep.hardware, "cpu_model": "EPYC"}
    moved = with_sweep(second[0], hardware=hardware), with_sweep(second[1], hardware=hardware)
    with pytest.raises(SweepError, match=r"hardware.cpu_model: Xeon 2.2 GHz and EPYC"):
        compare_sessions([first, moved])


def test_a_config_that_is_not_in_every_pair_is_left_out() -> None:
    rng = np.random.default_rng(4)
    one, other = (drawn_pair(rng, host=0.05) for _ in range(2))
    fewer = replace(other, table=other.table[1:])
    assert sorted(combined([one, fewer]).table["params.num_workers"]) == [3, 6, 8]
    with pytest.raises(SweepError, match="no config was completed in all pairs of runs"):
        combined([one, replace(other, table=other.table[:0])])
