from __future__ import annotations

import pytest

from orchestrator.analysis.recommendation.choice import (
    confirmed_configs,
    faster_finalist,
    finalists,
    is_decided,
)
from orchestrator.analysis.recommendation.pairs import confirm_level
from orchestrator.analysis.recommendation.selection import Selection, select
from tests.orchestrator.analysis.made_runs import MadeRun, config


def run_of(*speeds: tuple[int, float]) -> MadeRun:
    """One run a config, which is told by its workers."""
    run = MadeRun()
    for workers, speed in speeds:
        run.add_runs(config(num_workers=workers), [speed])
    return run


def confirm(run: MadeRun, speeds: dict[int, list[float]]) -> None:
    """Add confirm runs by workers."""
    for workers, of_config in speeds.items():
        run.add_runs(config(num_workers=workers), of_config, stage="confirm")


def replaced_by(run: MadeRun) -> int | None:
    """Workers of the finalist that takes the selected config's place."""
    found = faster_finalist(select(run.tables), run.tables)
    return None if found is None else int(found.config["num_workers"])


def test_the_finalists_are_the_selected_config_and_its_fastest_contenders() -> None:
    selection = select(run_of((0, 400.0), (2, 990.0), (3, 1000.0), (4, 985.0)).tables)
    assert [c["num_workers"] for c in finalists(selection, most=2)] == [2, 3]
    assert len(finalists(selection, most=9)) == 3


def test_where_nothing_was_selected_there_are_no_finalists() -> None:
    assert finalists(Selection(rule=MadeRun().tables.rule), most=2) == ()


@pytest.mark.parametrize(
    ("ours", "is_enough"),
    [
        ([500.0, 502.0, 498.0], True),  # a quarter faster
        ([410.0, 450.0, 430.0], False),  # perhaps faster
        ([400.1, 400.0, 399.9], True),  # shown to be a tie
    ],
)
def test_confirming_ends_once_it_is_known(ours: list[float], is_enough: bool) -> None:
    run = run_of((0, 400.0), (3, 500.0))
    run.sweep["max_confirm"] = 12
    confirm(run, {0: [400.0, 401.0, 399.0], 3: ours})
    assert is_decided(run.tables, config(num_workers=3)) == is_enough


def test_where_the_baseline_was_selected_each_of_its_contenders_is_decided() -> None:
    run = run_of((0, 400.0), (3, 401.0))
    confirm(run, {0: [400.0, 401.0, 399.0], 3: [300.0, 301.0, 299.0]})
    assert is_decided(run.tables, config())
    confirm(run, {6: [380.0, 460.0, 400.0]})
    assert not is_decided(run.tables, config())


def test_a_training_outside_the_rounds_is_no_finalist() -> None:
    run = run_of((0, 400.0), (3, 401.0))
    confirm(run, {0: [400.0, 401.0, 399.0], 3: [300.0, 301.0, 299.0]})
    level = confirm_level(run.tables, 3)
    run.add_runs(config(), [400.0], first=3, stage="confirm")  # evaluates the test split
    run.add_runs(config(num_workers=6), [380.0], first=4, stage="confirm")  # the front's far end
    assert confirmed_configs(run.tables) == [config(num_workers=3)]
    assert is_decided(run.tables, config())
    assert confirm_level(run.tables, 3) == level


def test_a_contender_that_the_confirm_runs_show_to_be_faster_takes_its_place() -> None:
    run = run_of((0, 400.0), (3, 990.0), (6, 1000.0))
    assert select(run.tables).config == config(num_workers=3)
    confirm(run, {3: [990.0, 991.0, 989.0], 6: [1100.0, 1101.0, 1099.0]})
    assert replaced_by(run) == 6


def test_a_contender_that_may_only_be_faster_does_not() -> None:
    run = run_of((0, 400.0), (3, 990.0), (6, 1000.0))
    confirm(run, {3: [990.0, 991.0, 989.0], 6: [1100.0, 960.0, 1010.0]})
    assert replaced_by(run) is None


def test_a_config_that_was_no_contender_does_not() -> None:
    run = run_of((0, 400.0), (3, 1000.0), (6, 500.0))
    confirm(run, {3: [990.0, 991.0, 989.0], 6: [1100.0, 1101.0, 1099.0]})
    assert replaced_by(run) is None
