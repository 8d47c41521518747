from __future__ import annotations

import pytest

from orchestrator.analysis.recommendation.speedup import Basis, Speedup, speed_up
from orchestrator.analysis.statistics.noise_floor import NoiseFloor
from orchestrator.trial import Stage
from tests.orchestrator.analysis.made_runs import MadeRun, config

FAST = config(num_workers=3)


def searched() -> MadeRun:
    run = MadeRun()
    run.add_runs(config(), [1000.0])
    run.add_runs(FAST, [3900.0])
    return run


def confirm(run: MadeRun, ours: list[float], theirs: list[float]) -> None:
    run.add_runs(FAST, ours, stage="confirm")
    run.add_runs(config(), theirs, stage="confirm")


def interval(low: float, high: float) -> Speedup:
    return Speedup(
        ratio=(low * high) ** 0.5, low=low, high=high, basis=Basis.CONFIRM, num_pairs=3,
        tie_margin=0.02,
    )  # fmt: skip


def test_the_confirm_runs_come_first_and_the_searching_figure_stands_beside() -> None:
    run = searched()
    confirm(run, [4000.0, 4040.0, 3980.0], [1000.0, 1000.0, 1000.0])
    speedup = speed_up(run.tables, FAST)
    assert (speedup.basis, speedup.num_pairs) == (Basis.CONFIRM, 3)
    assert speedup.ratio == pytest.approx(4.0, rel=0.01)
    assert speedup.is_shown
    assert speedup.searching_ratio == pytest.approx(3.9)


def test_one_pair_gives_a_ratio_and_no_interval() -> None:
    run = searched()
    confirm(run, [4000.0], [1000.0])
    speedup = speed_up(run.tables, FAST)
    assert (speedup.ratio, speedup.low, speedup.high) == (pytest.approx(4.0), None, None)
    assert not speedup.is_decided


def test_without_confirm_runs_there_is_a_figure_and_no_interval() -> None:
    speedup = speed_up(searched().tables, FAST)
    assert (speedup.basis, speedup.low) == (Basis.SEARCHING, None)
    assert speedup.ratio == pytest.approx(3.9)


def test_the_baseline_is_as_fast_as_itself() -> None:
    speedup = speed_up(searched().tables, config())
    assert (speedup.basis, speedup.ratio) == (Basis.SAME, 1.0)


def test_without_the_baseline_it_is_not_known() -> None:
    run = MadeRun()
    run.add_runs(FAST, [3900.0])
    speedup = speed_up(run.tables, FAST)
    assert (speedup.basis, speedup.ratio) == (Basis.UNKNOWN, None)


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (1.1, 1.3, "shown"),
        (0.7, 0.9, "slower"),
        (0.99, 1.01, "tie"),
        (0.9, 1.2, "open"),
    ],
)
def test_an_interval_shows_one_of_four_things(low: float, high: float, expected: str) -> None:
    speedup = interval(low, high)
    flags = {"shown": speedup.is_shown, "slower": speedup.is_slower, "tie": speedup.is_tie}
    assert [name for name, flag in flags.items() if flag] == [expected] * (expected != "open")
    assert speedup.is_decided == (expected != "open")


@pytest.mark.parametrize(("low", "high"), [(2.96, 5.3), (0.5, 0.8)])
def test_which_is_faster_decides_nothing_where_the_factor_is_not_known(
    low: float, high: float
) -> None:
    speedup = interval(low, high)
    assert (speedup.is_known, speedup.is_decided) == (False, False)


def test_a_gain_is_held_against_the_noise_of_means_over_as_many_runs() -> None:
    noise = NoiseFloor(stage=Stage.CONFIRM, num_runs=3, largest_ratio=1.10, cv=0.05)
    assert interval(1.01, 1.06).is_within(noise)
    assert not interval(1.05, 1.09).is_within(noise), "1.10 over three runs is 1.057"
    assert not Speedup(ratio=1.0, basis=Basis.SAME).is_within(noise)
