import numpy as np
import pytest
from scipy import stats

from orchestrator.analysis.recommendation.choice import Choice, choose, is_decided
from orchestrator.analysis.recommendation.speedup import (
    Speedup,
    level_of_pairs,
    pair_up,
)
from tests.orchestrator.analysis.made_runs import Config, MadeRun, config, confirm, run_by_workers

FAST = config(num_workers=3)


def chosen(run: MadeRun) -> Choice:
    return choose(run.tables)


def close(speed: float) -> list[float]:
    """Speeds of three runs, close together."""
    return [speed, speed * 1.001, speed * 0.999]


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
    assert choice.speedup.is_same
    assert choice.is_slower
    assert choice.against.ratio == pytest.approx(0.8)


def test_a_config_that_is_as_fast_within_the_margin_gives_way_unless_it_is_cheaper() -> None:
    run = run_by_workers((0, 1000.0), (3, 1300.0))
    confirm(run, {0: close(1000.0), 3: close(1004.0)})
    choice = chosen(run)
    assert (choice.config, choice.rejected, choice.is_slower) == (config(), FAST, False)
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
    level = level_of_pairs(run.tables, 3)
    run.add_runs(config(), [400.0], first=3, stage="confirm")  # evaluates the test split
    run.add_runs(config(num_workers=6), [380.0], first=4, stage="confirm")  # the front's far end
    assert run.tables.compared == [config(num_workers=3)]
    assert is_decided(run.tables, config())
    assert level_of_pairs(run.tables, 3) == level


# -- speed-ups


def interval(low: float, high: float) -> Speedup:
    return Speedup(
        ratio=(low * high) ** 0.5, low=low, high=high, num_pairs=3,
        tie_margin=0.02,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [(1.1, 1.3, "shown"), (0.7, 0.9, "slower"), (0.99, 1.01, "tie"), (0.9, 1.2, "open")],
)
def test_an_interval_shows_one_of_four_things(low: float, high: float, expected: str) -> None:
    speedup = interval(low, high)
    flags = {"shown": speedup.is_shown, "slower": speedup.is_slower, "tie": speedup.is_tie}
    assert [name for name, flag in flags.items() if flag] == [expected] * (expected != "open")
    assert speedup.is_decided == (expected != "open")


@pytest.mark.parametrize(("low", "high"), [(2.96, 5.3), (0.5, 0.8)])
def test_which_is_faster_decides_nothing_where_factor_is_not_known(low: float, high: float) -> None:
    speedup = interval(low, high)
    assert (speedup.is_known, speedup.is_decided) == (False, False)


# -- pairs


CONTAMINATED = {"tags.contaminated": "30 % of its cores' time went to others"}


def pairs_of(run: MadeRun) -> Speedup:
    return pair_up(run.tables, FAST, config())


def test_the_interval_is_that_of_the_paired_ratios() -> None:
    ours, theirs = [4100.0, 3900.0, 4400.0], [1000.0, 980.0, 1100.0]
    paired = pairs_of(confirm(MadeRun(), {3: ours, 0: theirs}))
    logs = np.log(ours) - np.log(theirs)
    low, high = np.exp(stats.t.interval(0.95, 2, loc=logs.mean(), scale=stats.sem(logs)))
    assert paired.ratio == pytest.approx(np.exp(logs.mean()))
    assert (paired.low, paired.high) == (pytest.approx(low), pytest.approx(high))
    # A slow minute hits both runs of a pair: their ratio does not see it.
    unpaired = np.exp(stats.t.ppf(0.975, 4) * np.log(ours).std(ddof=1) * np.sqrt(2 / 3))
    assert high / low < unpaired**2


def test_pairs_are_matched_by_repeat_and_broken_ones_left_out() -> None:
    run = confirm(MadeRun(), {3: [4000.0, 4000.0, 8000.0], 0: [1000.0, 1000.0]})
    run.add(config(), stage="confirm", repeat=2, state="failed", reason="killed")
    pairs = pairs_of(run)
    assert (pairs.num_pairs, pairs.ratio) == (2, pytest.approx(4.0))


@pytest.mark.parametrize("contaminated", [FAST, config()], ids=["ours", "the reference's"])
def test_a_contaminated_round_is_left_out_where_two_are_clean(contaminated: Config) -> None:
    run = confirm(MadeRun(), {3: [1300.0, 1310.0, 1290.0], 0: [1000.0, 1000.0, 1000.0]})
    row = next(row for row in run.rows if row["params.num_workers"] == contaminated["num_workers"])
    row |= {**CONTAMINATED, "metrics.samples_per_s": 500.0}
    pairs = pairs_of(run)
    assert pairs.ratio == pytest.approx(1.30, rel=0.01)
    assert (pairs.num_pairs, pairs.num_left_out, pairs.num_disturbed) == (2, 1, 0)


def test_contaminated_rounds_count_where_too_few_are_clean() -> None:
    run = confirm(MadeRun(), {3: [1300.0] * 3, 0: [1000.0] * 3})
    run.rows[0] |= CONTAMINATED
    run.rows[-1] |= CONTAMINATED
    pairs = pairs_of(run)
    assert (pairs.num_pairs, pairs.num_left_out, pairs.num_disturbed) == (3, 0, 2)


def test_the_level_is_shared_out_over_interim_analyses_and_finalists() -> None:
    run = confirm(MadeRun(), {3: [500.0, 496.0, 505.0], 0: [400.0, 404.0, 398.0]})
    fixed = level_of_pairs(run.tables, 3)
    run.sweep["max_confirm"] = 9
    extended = level_of_pairs(run.tables, 3)
    assert fixed == pytest.approx(0.05)
    assert level_of_pairs(run.tables, 4) == extended < level_of_pairs(run.tables, 6) < fixed
    run.add_runs(config(num_workers=6), [500.0, 496.0, 505.0], stage="confirm")
    assert level_of_pairs(run.tables, 3) < extended
