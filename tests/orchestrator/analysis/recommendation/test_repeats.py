from __future__ import annotations

from orchestrator.analysis.recommendation.selection import to_repeat
from tests.orchestrator.analysis.made_runs import MadeRun, config


def run_of(*speeds: tuple[int, float]) -> MadeRun:
    """One run a config, which is told by its workers."""
    run = MadeRun()
    for workers, speed in speeds:
        run.add_runs(config(num_workers=workers), [speed])
    return run


def named(run: MadeRun, max_runs: int = 3) -> list[int]:
    return [c["num_workers"] for c in to_repeat(run.tables, max_runs=max_runs)]


def test_where_nothing_was_repeated_the_best_and_its_nearest_contenders_are() -> None:
    run = run_of((0, 400.0), (1, 950.0), (2, 960.0), (3, 1000.0), (4, 940.0), (5, 955.0))
    assert named(run) == [3, 2, 5, 1]


def test_configs_far_from_the_best_need_no_repeat() -> None:
    assert named(run_of((0, 400.0), (3, 1000.0), (6, 700.0))) == []


def test_a_config_that_is_told_from_the_best_is_repeated_no_more() -> None:
    run = run_of((0, 400.0), (3, 1000.0), (6, 930.0))
    assert named(run) == [3, 6]
    for workers, speed in ((3, 1001.0), (6, 931.0)):
        run.add_runs(config(num_workers=workers), [speed], first=1)
    assert named(run) == []


def test_no_config_has_more_runs_than_the_bound() -> None:
    run = run_of((3, 1000.0), (6, 960.0))
    run.add_runs(config(num_workers=3), [980.0, 1030.0], first=1)
    run.add_runs(config(num_workers=6), [930.0, 990.0], first=1)
    assert named(run, max_runs=3) == []
    assert named(run, max_runs=30) == [3, 6]


def test_a_config_that_would_take_too_many_runs_is_left_as_it_is() -> None:
    run = run_of((3, 1000.0), (6, 990.0))
    run.add_runs(config(num_workers=3), [1060.0, 1120.0], first=1)
    run.add_runs(config(num_workers=6), [1050.0, 1110.0], first=1)
    assert named(run, max_runs=4) == []


def test_the_noise_of_the_confirm_stage_asks_for_no_repeat() -> None:
    run = run_of((3, 1000.0), (6, 700.0))
    run.add_runs(config(num_workers=3), [600.0, 1400.0, 900.0], stage="confirm")
    assert named(run) == []
