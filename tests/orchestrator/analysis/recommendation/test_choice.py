from __future__ import annotations

import pytest

from orchestrator.analysis.recommendation.choice import (
    Choice,
    choose,
    is_decided,
)
from orchestrator.analysis.recommendation.speedup import Basis, confirm_level, confirmed_configs
from tests.orchestrator.analysis.made_runs import MadeRun, config, confirm, run_by_workers

FAST = config(num_workers=3)


def chosen(run: MadeRun) -> Choice:
    choice = choose(run.tables)
    assert choice is not None
    return choice


def close(speed: float) -> list[float]:
    """Speeds of three runs, close together."""
    return [speed, speed * 1.001, speed * 0.999]


def test_the_selected_config_stands_with_those_that_are_as_fast() -> None:
    choice = chosen(run_by_workers((0, 400.0), (3, 1000.0), (6, 995.0)))
    assert choice.config == FAST
    assert choice.tied == (config(num_workers=6),)


def test_a_faster_finalist_takes_the_place_of_the_selected_config() -> None:
    run = run_by_workers((0, 400.0), (3, 990.0), (6, 1000.0))
    confirm(run, {0: close(400.0), 3: close(990.0), 6: close(1100.0)})
    choice = chosen(run)
    assert choice.config == config(num_workers=6)
    assert choice.tied == ()
    assert choice.speedup.ratio == pytest.approx(2.75, rel=0.01)


def test_a_config_that_is_shown_to_be_slower_gives_way_to_the_baseline() -> None:
    run = run_by_workers((0, 1000.0), (3, 1300.0))
    confirm(run, {0: close(1000.0), 3: close(800.0)})
    choice = chosen(run)
    assert (choice.config, choice.rejected) == (config(), FAST)
    assert choice.speedup.basis is Basis.SAME
    assert choice.is_slower
    assert choice.against is not None
    assert choice.against.ratio == pytest.approx(0.8)


def test_a_config_that_is_as_fast_within_the_margin_gives_way_unless_it_is_cheaper() -> None:
    run = run_by_workers((0, 1000.0), (3, 1300.0))
    confirm(run, {0: close(1000.0), 3: close(1004.0)})
    choice = chosen(run)
    assert (choice.config, choice.rejected, choice.is_slower) == (config(), FAST, False)
    assert choice.against is not None
    assert choice.against.is_tie
    run.sweep["baseline"] = config(num_workers=6)
    for row in run.rows:
        row["params.num_workers"] = {0: 6}.get(row["params.num_workers"], 3)
    assert (chosen(run).config, chosen(run).rejected) == (FAST, None), "3 workers, not 6"


@pytest.mark.parametrize("contender", [1100.0, 380.0], ids=["a finalist", "the baseline"])
def test_the_run_that_gives_the_test_accuracy_changes_nothing(contender: float) -> None:
    other = config(num_workers=6)
    run = run_by_workers((0, 400.0), (3, 990.0), (6, 1000.0))
    confirm(run, {0: close(400.0), 3: close(380.0), 6: close(contender)})
    before = chosen(run)
    assert before.config == (other if contender > 400 else config())
    last = {"stage": "confirm", "metrics.test_acc": 0.8}
    run.add_runs(before.config, [700.0], first=3, **last)
    after = chosen(run)
    assert (after.config, after.speedup) == (before.config, before.speedup)


@pytest.mark.parametrize("ours", [[-5.0, -5.1, -4.9], [5.0, -1.0, 5.1]])
def test_figures_that_have_no_ratio_reject_nothing(ours: list[float]) -> None:
    run, reward = MadeRun(), "metrics.mean_reward"
    run.sweep["objectives"] = [{"metric": "mean_reward", "goal": "maximize"}]
    for c, figures in ((config(), [-10.0] * 3), (FAST, ours)):
        run.add(c, **{reward: figures[0]})
        for repeat, figure in enumerate(figures):
            run.add(c, stage="confirm", repeat=repeat, **{reward: figure})
    choice = chosen(run)
    assert (choice.config, choice.is_slower, choice.speedup.ratio) == (FAST, False, None)


@pytest.mark.parametrize("speed", [800.0, 1004.0, 1300.0], ids=["slower", "a tie", "faster"])
def test_disturbed_rounds_decide_nothing(speed: float) -> None:
    run = run_by_workers((0, 1000.0), (3, 1300.0))
    confirm(run, {0: close(1000.0), 3: close(speed)})
    assert is_decided(run.tables, FAST)
    for row in run.rows[3:5]:
        row["tags.contaminated"] = "40 %"
    choice = chosen(run)
    assert (choice.config, choice.rejected, choice.is_slower) == (FAST, None, False)
    assert not is_decided(run.tables, FAST)


@pytest.mark.parametrize(
    ("ours", "is_enough"),
    [
        ([500.0, 502.0, 498.0], True),  # a quarter faster
        ([410.0, 450.0, 430.0], False),  # perhaps faster
        ([400.1, 400.0, 399.9], True),  # shown to be a tie
    ],
)
def test_confirming_ends_once_it_is_known(ours: list[float], is_enough: bool) -> None:
    run = run_by_workers((0, 400.0), (3, 500.0))
    run.sweep["max_confirm"] = 12
    confirm(run, {0: [400.0, 401.0, 399.0], 3: ours})
    assert is_decided(run.tables, config(num_workers=3)) == is_enough


def test_a_training_outside_the_rounds_is_no_finalist() -> None:
    run = run_by_workers((0, 400.0), (3, 401.0))
    confirm(run, {0: [400.0, 401.0, 399.0], 3: [300.0, 301.0, 299.0]})
    level = confirm_level(run.tables, 3)
    run.add_runs(config(), [400.0], first=3, stage="confirm")  # evaluates the test split
    run.add_runs(config(num_workers=6), [380.0], first=4, stage="confirm")  # the front's far end
    assert confirmed_configs(run.tables) == [config(num_workers=3)]
    assert is_decided(run.tables, config())
    assert confirm_level(run.tables, 3) == level
