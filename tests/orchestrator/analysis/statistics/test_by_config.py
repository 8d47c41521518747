"""Configs from trials, the spread between their runs, and their gains."""

from collections.abc import Iterator

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from orchestrator.analysis.recommendation.front import front_table
from orchestrator.analysis.recommendation.selection import select
from orchestrator.analysis.statistics.by_config import COMPUTE, LOADER, by_config, gains_of
from orchestrator.analysis.statistics.pooling import OVER_POOL, OVER_RUNS, pools_of
from orchestrator.trial import Stage
from tests.orchestrator.analysis.made_runs import ACCURACY, SPEED, MadeRun, config


def test_runs_that_did_not_complete_are_counted_and_not_averaged() -> None:
    run = MadeRun()
    run.add_runs(config(), [1000.0, 1000.0])
    run.add(config(), state="failed", reason="killed", repeat=2)
    run.add(config(num_workers=3), state="infeasible", reason="no memory")
    configs = by_config(run.trials)
    assert configs[["num_runs", "num_lost"]].to_numpy().tolist() == [[2, 1]]


def test_nothing_completed_is_an_empty_table_with_the_same_columns(made: MadeRun) -> None:
    lost = made.trials[made.trials["state"] == "infeasible"]
    configs = by_config(lost)
    assert configs.empty
    assert set(by_config(made.trials).columns) <= {*configs.columns}


def test_accuracies_are_of_all_runs_and_speeds_and_memory_of_the_clean_ones() -> None:
    run = MadeRun()
    figures = {
        ACCURACY: 0.9, "metrics.train_loss": 0.3, "metrics.macro_f1": 0.7,
        "metrics.peak_rss_gib": 1.0, "metrics.time_to_accuracy": 10.0,
    }  # fmt: skip
    contaminated = {
        ACCURACY: 0.6, "metrics.train_loss": 0.6, "metrics.macro_f1": 0.4,
        "metrics.peak_rss_gib": 4.0, "metrics.time_to_accuracy": 40.0,
        "tags.contaminated": "30 %",
    }  # fmt: skip
    run.add_runs(config(), [1300.0, 1300.0], **figures)
    run.add_runs(config(), [900.0], first=2, **contaminated)
    run.add_runs(config(num_workers=3), [700.0], **contaminated)
    row, dirty = by_config(run.trials).to_dict("records")
    assert row[SPEED] == pytest.approx(1300)
    assert (row["metrics.peak_rss_gib"], row["metrics.time_to_accuracy"]) == (1.0, 10.0)
    assert row[ACCURACY] == pytest.approx(0.8)
    assert row["metrics.train_loss"] == pytest.approx(0.4)
    assert row["metrics.macro_f1"] == pytest.approx(0.6)
    assert (row["num_runs"], row["num_all_runs"]) == (2, 3)
    assert (row["num_left_out"], row["contaminated"]) == (1, False)
    assert row["timed_ids"] == row["trial_ids"][:2]
    assert (dirty[SPEED], dirty["num_runs"], dirty["num_left_out"]) == (pytest.approx(700), 1, 0)


def test_an_accuracy_is_of_the_runs_under_all_conditions() -> None:
    run = MadeRun()
    run.add_runs(config(), [1000.0, 1000.0], **{ACCURACY: 0.9})
    run.add_runs(config(), [9000.0], device="H200", **{ACCURACY: 0.6})
    rows = by_config(run.tables.grouped)
    assert rows[ACCURACY].tolist() == [pytest.approx(0.8)] * 2
    assert rows[SPEED].tolist() == [pytest.approx(1000), pytest.approx(9000)]
    assert rows[["num_runs", "num_all_runs"]].to_numpy().tolist() == [[2, 3], [1, 3]]


def test_a_figure_that_may_be_negative_is_averaged_over_all_its_runs() -> None:
    run = MadeRun()
    for value in (-5.0, -5.0, 3.0):
        run.add(config(), **{"metrics.mean_reward": value})
    for value in (1.0, 1.0, 1.0):
        run.add(config(num_workers=3), **{"metrics.mean_reward": value})
    odd, steady = by_config(run.trials, speed="mean_reward").to_dict("records")
    assert odd["metrics.mean_reward"] == pytest.approx(-7 / 3)
    assert odd["num_runs"] == 3
    assert all(np.isnan(odd[name]) for name in ("variance", "metrics.mean_reward_low"))
    assert steady["metrics.mean_reward"] == pytest.approx(1)
    assert steady["df"] == 2, "runs without a logarithm tell nothing of the spread of others"


@pytest.mark.parametrize(("num_runs", "figure"), [(3, float("nan")), (2, 20.0)])
def test_a_target_that_few_runs_reached_is_not_that_of_config(num_runs: int, figure: float) -> None:
    run = MadeRun()
    run.add(config(), **{"metrics.time_to_accuracy_s": 20.0})
    for repeat in range(1, num_runs):
        run.add(config(), repeat=repeat)
    for speed in ("samples_per_s", "time_to_accuracy_s"):
        (found,) = by_config(run.trials, speed=speed)["metrics.time_to_accuracy_s"]
        assert found == pytest.approx(figure, nan_ok=True)


def test_short_runs_to_confirm_alone_are_no_whole_trainings() -> None:
    run = MadeRun()
    run.add(config())
    learned = dict.fromkeys((ACCURACY, "metrics.train_loss", "metrics.test_acc"), np.nan)
    run.add(config(), stage="confirm", **learned, **{"metrics.train_s": 2.0})
    (row,) = by_config(run.trials, stage=Stage.CONFIRM).to_dict("records")
    assert np.isnan(row["metrics.train_s"])
    assert (row["num_runs"], row["num_all_runs"]) == (1, 0)


def test_a_run_without_a_partner_adds_to_no_speed_of_the_rounds() -> None:
    run = MadeRun()
    for c, speed in ((config(), 1000.0), (config(num_workers=3), 1300.0)):
        run.add_runs(c, [speed, speed], stage="confirm", **{"metrics.test_acc": np.nan})
    alone = {SPEED: 2000.0, "metrics.test_acc": 0.95, "metrics.train_s": 40.0}
    run.add(config(num_workers=3), stage="confirm", repeat=2, **alone)
    configs = by_config(run.trials, stage=Stage.CONFIRM)
    assert configs[SPEED].tolist() == pytest.approx([1000.0, 1300.0])
    assert configs["num_runs"].tolist() == [2, 2]
    assert configs["num_left_out"].tolist() == [0, 0]
    assert configs["metrics.test_acc"].iloc[1] == pytest.approx(0.95)
    rounds = [row[ACCURACY] for row in run.rows[2:4]]
    assert configs[ACCURACY].iloc[1] == pytest.approx(np.mean(rounds))
    assert configs["num_all_runs"].tolist() == [2, 2]
    assert len(configs["trial_ids"].iloc[1]) == 3


# -- gains


TRUTH = 4.1


def ceilings_of(*repeats: int) -> pd.DataFrame:
    """Configs with so many runs each, their model 4.1 times as fast as they are."""
    run = MadeRun()
    for workers, number in enumerate(repeats):
        for repeat in range(number):
            run.add(config(num_workers=workers), repeat=repeat)
    return next(draws(run.trials, num_draws=1))


def draws(trials: pd.DataFrame, num_draws: int) -> Iterator[pd.DataFrame]:
    """The table with drawn speeds: hosts differ by 20 %, their own ratio by 2 %."""
    rng = np.random.default_rng(0)
    for _ in range(num_draws):
        speeds = 5000 * np.exp(0.2 * rng.standard_normal(len(trials)))
        ratios = TRUTH * np.exp(0.02 * rng.standard_normal(len(trials)))
        cells = {SPEED: speeds, COMPUTE: speeds * ratios, LOADER: speeds * 1.001}
        yield trials.assign(**cells)


def test_the_interval_is_of_ratios_within_runs_and_covers_the_truth_19_times_of_20() -> None:
    trials = ceilings_of(*[3] * 12)
    configs = by_config(trials)
    gains = [gain for table in draws(trials, num_draws=10) for gain in gains_of(table, configs)]
    assert 106 <= sum(gain.low <= TRUTH <= gain.high for gain in gains) <= 119  # of 120
    widths = [gain.high / gain.low for gain in gains]
    assert float(np.median(widths)) < 1.10, "the hosts' 20 % are on both sides of a ratio"


@pytest.mark.parametrize(("times", "part"), [(3.0, "the loader"), (5.0, "the model")])
def test_the_larger_of_two_gains_is_given(times: float, part: str) -> None:
    trials = ceilings_of(2, 2)
    gain = gains_of(trials.assign(**{LOADER: times * trials[SPEED]}), by_config(trials))[0]
    assert gain.part == part


WORKERS = [config(num_workers=n) for n in (0, 3, 6, 8)]


def test_the_pool_is_the_error_of_a_one_way_analysis_of_variance() -> None:
    run, rng = MadeRun(), np.random.default_rng(0)
    speeds = [
        1000 * (i + 1) * np.exp(0.03 * rng.standard_normal(n)) for i, n in enumerate((3, 2, 4))
    ]
    for c, of_config in zip(WORKERS, speeds, strict=False):
        run.add_runs(c, list(of_config))
    run.add_runs(WORKERS[3], [5000.0])
    pool = pools_of(run.trials, Stage.TRAIN, "samples_per_s")["all"]
    squares = sum(((np.log(s) - np.log(s).mean()) ** 2).sum() for s in speeds)
    assert (pool.variance, pool.df) == (pytest.approx(squares / 6), 6)
    assert not len(pool.apart)

    rows = by_config(run.trials)
    half = stats.t.ppf(0.975, 6) * np.sqrt(squares / 6 / np.array([3, 2, 4, 1]))
    assert np.log(rows[f"{SPEED}_high"] / rows[SPEED]).tolist() == pytest.approx(half.tolist())
    assert set(rows["interval"]) == {OVER_POOL}
    assert rows[SPEED].tolist() == pytest.approx([*map(stats.gmean, speeds), 5000.0])


def test_a_run_that_varies_more_within_itself_than_the_pool_gets_the_difference_on_top() -> None:
    run = MadeRun()
    run.add_runs(WORKERS[0], [1000.0, 1030.0, 970.0], within=0.005)
    run.add_runs(WORKERS[1], [2000.0], within=0.005)
    run.add_runs(WORKERS[2], [3000.0], within=0.04)
    rows = by_config(run.trials).set_index("params.num_workers")
    assert rows["variance"][3] == pytest.approx(rows["variance"][0] * 3)
    assert rows["variance"][6] - rows["variance"][3] == pytest.approx(0.04**2 - 0.005**2)


def test_runs_that_happen_to_agree_are_no_surer_than_their_blocks() -> None:
    run = MadeRun()
    run.add_runs(WORKERS[0], [1000.0, 1000.0], within=0.01)
    row = by_config(run.trials).iloc[0]
    assert row["variance"] == pytest.approx(0.01**2 / 2)


def test_a_config_far_noisier_than_the_others_keeps_its_own_spread() -> None:
    run, rng = MadeRun(), np.random.default_rng(1)
    for c in WORKERS[:3]:
        run.add_runs(c, list(1000 * np.exp(0.01 * rng.standard_normal(5))))
    run.add_runs(WORKERS[3], [1000.0, 1400.0, 800.0])
    rows = by_config(run.trials).set_index("params.num_workers")
    own = np.log([1000.0, 1400.0, 800.0]).var(ddof=1)
    assert (rows["variance"][8], rows["df"][8]) == (pytest.approx(own / 3), 2)
    assert rows["interval"][8] == OVER_RUNS
    assert rows["df"][0] == 12
    assert rows["variance"][0] < 0.02**2 / 5


def once(*, confirm: bool) -> MadeRun:
    """Four configs run once, and where asked three confirm runs of two of them."""
    run = MadeRun()
    for c, speed in zip(WORKERS, (1000.0, 1985.0, 1990.0, 2000.0), strict=True):
        run.add_runs(c, [speed])
    if confirm:
        run.add_runs(WORKERS[0], [1000.0, 1010.0, 990.0], stage="confirm")
        run.add_runs(WORKERS[1], [1980.0, 2000.0, 2020.0], stage="confirm")
    return run


def test_confirm_runs_give_the_spread_of_configs_that_were_run_once_with_a_note() -> None:
    run = once(confirm=True)
    rows = by_config(run.trials)
    assert set(rows["df"]) == {4}
    assert set(rows["interval"]) == {f"{OVER_POOL} (confirm runs included)"}
    low, high = (front_table(run.tables)[f"{SPEED}_{end}"][0] for end in ("low", "high"))
    assert np.log(high / low) / 2 == pytest.approx(stats.t.ppf(0.975, 4) * 0.01, rel=0.01)


def test_the_noise_of_confirm_runs_does_not_change_the_selection() -> None:
    before, after = once(confirm=False), once(confirm=True)
    chosen = select(before.tables)
    assert chosen.config == select(after.tables).config == WORKERS[1]
    assert len(chosen.row["trial_ids"]) == 1
