from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd
import pytest

from orchestrator.analysis.statistics.by_config import COMPUTE, LOADER, by_config, gains_of
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
def test_a_target_that_few_runs_reached_is_not_that_of_the_config(
    num_runs: int, figure: float
) -> None:
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


def test_the_run_beside_no_other_adds_to_no_speed_of_the_rounds() -> None:
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


def test_the_interval_is_of_ratios_within_runs_and_holds_the_truth_19_times_of_20() -> None:
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
