from __future__ import annotations

import json
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest
from scipy import stats

from analysis.comparable import ALL, GROUP, with_groups
from analysis.recommendation.front import front_table
from analysis.recommendation.recommend import recommend
from analysis.recommendation.selection import select
from analysis.rule import rule_of
from analysis.statistics.against_best import against_best, runs_to_resolve
from analysis.statistics.by_config import by_config
from analysis.statistics.intervals import comparison_quantile
from orchestrator.trial import Stage
from tests.analysis.made_runs import MadeRun, config, products_run, sweep_json

SPEED, ACCURACY = "metrics.samples_per_s", "metrics.val_acc"
RULE = rule_of(sweep_json())


def configs_of(
    speeds: list[float], *, cv: float = 0.01, runs: int = 3, df: float = 20, **columns: object
) -> pd.DataFrame:
    """Configs as they come from ``by_config``."""
    return pd.DataFrame(
        {
            SPEED: speeds,
            ACCURACY: 0.9,
            "variance": cv**2 / runs,
            "df": df,
            "num_runs": runs,
            GROUP: ALL,
            **columns,
        }
    )


def verdicts(configs: pd.DataFrame) -> list[str]:
    return [str(verdict) for verdict in against_best(configs, RULE)["verdict"]]


@pytest.mark.parametrize("df", [1.0, 4.0, 50.0])
def test_one_comparison_is_held_by_students_t(df: float) -> None:
    assert comparison_quantile(1, df) == pytest.approx(stats.t.ppf(0.975, df), rel=1e-4)


def test_many_comparisons_are_all_held_at_once() -> None:
    rng = np.random.default_rng(0)
    num, df, draws = 8, 6, 20_000
    means = rng.standard_normal((draws, num + 1))
    error = np.sqrt(2 * rng.chisquare(df, draws) / df)
    largest = np.abs(means[:, 1:] - means[:, :1]).max(axis=1) / error
    held = (largest <= comparison_quantile(num, df)).mean()
    assert 0.95 <= held <= 0.97  # a little conservative: they share a reference


@pytest.mark.parametrize(
    ("speeds", "cv", "expected"),
    [
        ([1000, 999], 0.002, ["best", "tied"]),
        ([1000, 990], 0.003, ["best", "tied"]),  # slower, and as good as the best all the same
        ([1000, 970], 0.003, ["best", "worse"]),
        ([1000, 970], 0.03, ["best", "unresolved"]),
        ([1000, 999], 0.03, ["best", "unresolved"]),
        ([900, 1000, 500], 0.01, ["worse", "best", "worse"]),
        ([1000], 0.01, ["best"]),
    ],
)
def test_the_four_verdicts(speeds: list[float], cv: float, expected: list[str]) -> None:
    assert verdicts(configs_of(speeds, cv=cv)) == expected


def test_two_configs_are_compared_by_the_t_interval_of_their_ratio() -> None:
    row = against_best(configs_of([1000, 900], cv=0.02, runs=2, df=7), RULE).iloc[1]
    half = stats.t.ppf(0.975, 7) * 0.02
    assert row["ratio_to_best"] == pytest.approx(0.9)
    assert (row["ratio_low"], row["ratio_high"]) == (
        pytest.approx(0.9 * np.exp(-half), rel=1e-4),
        pytest.approx(0.9 * np.exp(half), rel=1e-4),
    )


def test_what_may_be_the_best_widens_the_intervals_of_the_others() -> None:
    sure = against_best(configs_of([1000, 700, 600]), RULE).iloc[2]
    open_ = against_best(configs_of([1000, 995, 600]), RULE).iloc[2]
    assert open_["verdict"] == sure["verdict"] == "worse"
    assert open_["ratio_high"] > sure["ratio_high"]


def test_a_config_with_its_own_spread_is_judged_by_its_own_degrees_of_freedom() -> None:
    configs = configs_of([1000, 950], cv=0.01, df=20)
    configs.loc[1, "df"] = 1.0
    assert verdicts(configs_of([1000, 950], cv=0.01, df=20)) == ["best", "worse"]
    assert verdicts(configs) == ["best", "unresolved"]


def test_without_repeats_nothing_is_told_from_the_best() -> None:
    answers = against_best(configs_of([1000, 200], cv=np.nan, df=np.nan), RULE)
    assert answers["verdict"].tolist() == ["best", "unresolved"]
    assert answers["ratio_to_best"].tolist() == [1.0, pytest.approx(0.2)]
    assert answers.loc[1, ["ratio_low", "ratio_high"]].isna().all()


def test_a_config_that_is_not_accurate_enough_is_not_ranked_and_is_not_the_best() -> None:
    configs = configs_of([5000, 1000, 500], **{ACCURACY: [0.8, 0.9, 0.9]})
    assert verdicts(configs) == ["", "best", "worse"]
    assert np.isnan(against_best(configs, RULE)["ratio_to_best"][0])


def test_groups_have_a_best_of_their_own() -> None:
    configs = configs_of([100, 90, 9000, 8000], **{GROUP: ["cpu", "cpu", "H200", "H200"]})
    assert verdicts(configs) == ["best", "worse", "best", "worse"]


def test_costs_are_ranked_the_other_way() -> None:
    sweep = sweep_json()
    sweep["objectives"][0] = {"metric": "epoch_s", "goal": "minimize"}
    configs = configs_of([0, 0], **{"metrics.epoch_s": [2.0, 1.0]})
    answers = against_best(configs, rule_of(sweep))
    assert answers["verdict"].tolist() == ["worse", "best"]
    assert answers["ratio_to_best"][0] == pytest.approx(0.5)


def naive(
    logs: npt.NDArray[Any], variances: npt.NDArray[Any], quantile: float
) -> list[tuple[bool, float, float]]:
    """By the definition, pair by pair."""
    everyone = range(len(logs))
    half = {
        (i, j): quantile * np.sqrt(variances[i] + variances[j]) for i in everyone for j in everyone
    }
    worse = [any(logs[i] - logs[j] + half[i, j] < 0 for j in everyone if j != i) for i in everyone]
    found = []
    for i in everyone:
        contenders = [j for j in everyone if j != i and not worse[j]]
        low = min((logs[i] - logs[j] - half[i, j] for j in contenders), default=0.0)
        high = max((logs[i] - logs[j] + half[i, j] for j in contenders), default=0.0)
        found.append((worse[i], float(np.exp(low)), float(np.exp(min(high, 0.0)))))
    return found


@pytest.mark.parametrize(("num", "chunk"), [(2, 1_000_000), (40, 1_000_000), (40, 100)])
def test_equals_the_definition_on_random_configs(
    num: int, chunk: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("analysis.statistics.against_best._MANY", chunk)
    rng = np.random.default_rng(num)
    configs = configs_of(list(1000 * np.exp(0.05 * rng.standard_normal(num))))
    configs["variance"] = 0.02**2 / rng.integers(1, 5, num)
    logs, quantile = np.log(configs[SPEED].to_numpy()), comparison_quantile(num - 1, 20.0)
    expected = naive(logs, configs["variance"].to_numpy(), quantile)
    answers = against_best(configs, RULE).to_dict("records")
    for row, (worse, low, high) in zip(answers, expected, strict=True):
        if row["verdict"] != "best":
            assert (row["verdict"] == "worse") == (worse and low < 0.98)
            assert (row["ratio_low"], row["ratio_high"]) == pytest.approx((low, high))


def test_the_true_best_is_seldom_called_worse() -> None:
    rng, called = np.random.default_rng(5), 0
    true = np.array([1000.0, 1000.0, 990.0, 980.0, 950.0, 900.0])
    for _ in range(300):
        noise = 0.03 * rng.standard_normal((6, 3))
        configs = configs_of(list(true * np.exp(noise.mean(axis=1))), df=12)
        configs["variance"] = noise.var(axis=1, ddof=1).mean() / 3
        called += "worse" in verdicts(configs)[:1]
    assert called <= 15


def repeated(*groups: tuple[int, list[float]]) -> MadeRun:
    """Runs of (num_workers, speeds)."""
    run = MadeRun()
    for workers, speeds in groups:
        for repeat, speed in enumerate(speeds):
            ends = {f"{SPEED}_within_low": speed * 0.999, f"{SPEED}_within_high": speed * 1.001}
            cells = {SPEED: speed, **ends}
            run.add(config(num_workers=workers), repeat=repeat, **{ACCURACY: 0.9}, **cells)
    return run


def test_of_shown_ties_the_cheaper_is_recommended_and_it_is_said_that_they_are_shown() -> None:
    run = repeated((0, [991, 990, 989]), (3, [1000, 999, 1001]), (6, [700, 701, 699]))
    recommendation = recommend(run.trials, run.sweep)
    assert recommendation.config == config()
    assert recommendation.verdict == "tied"
    assert "shown to be as fast within 2 % as lr=0.003 batch_size=1000 num_workers=3" in (
        recommendation.why
    )


def test_a_cheaper_config_that_is_shown_to_be_slower_than_the_margin_allows_is_no_tie() -> None:
    run = repeated((0, [985, 986, 984]), (3, [1000, 1001, 999]))  # 1.5 % +- 0.3 %
    assert select(run.trials, run.sweep).config == config()
    run = repeated((0, [981, 983, 982]), (3, [1000, 1002, 998]))  # 1.8 % +- 0.4 %
    assert select(run.trials, run.sweep).config == config(num_workers=3)


def test_the_margin_is_the_sweeps_own() -> None:
    run = repeated((0, [951, 950, 949]), (3, [1000, 999, 1001]))
    assert select(run.trials, run.sweep).config == config(num_workers=3)
    run.sweep["tie_margin"] = 0.06
    assert select(run.trials, run.sweep).config == config()
    assert "as fast within 6 %" in recommend(run.trials, run.sweep).rule.text


def test_front_csv_and_recommended_json_hold_the_verdicts() -> None:
    run = products_run()
    front = front_table(run.trials, run.sweep)
    assert front["verdict"].tolist() == ["best", "worse", "worse"]
    assert front["ratio_to_best"].tolist()[0] == 1.0
    said = json.loads(json.dumps(recommend(run.trials, run.sweep).to_json()))
    assert said["verdict"] == "unresolved"


def asked_for(run: MadeRun, max_runs: int = 10) -> dict[int, int]:
    """Runs that a config should have, and has not, by its number of workers."""
    trained = with_groups(run.trials[run.trials["stage"] == Stage.TRAIN], run.sweep)
    found = against_best(by_config(trained, stage=Stage.TRAIN, speed="samples_per_s"), RULE)
    needed = runs_to_resolve(found, RULE, max_runs=max_runs)
    wanted = needed[needed > found["num_runs"]]
    return {int(found.loc[i, "params.num_workers"]): int(runs) for i, runs in wanted.items()}


def test_what_more_repeats_would_resolve_and_how_many() -> None:
    run = repeated((0, [500, 505, 495]), (3, [955, 975, 965]), (6, [990, 1005, 975]), (8, [1001]))
    asked = asked_for(run, max_runs=40)
    assert {8} < asked.keys() <= {3, 6, 8}
    assert asked[8] == max(asked.values()), "the best has as many as any"
    assert asked_for(run, max_runs=3) == {}


def test_the_runs_that_are_asked_for_resolve_most_configs() -> None:
    rng, resolved, num = np.random.default_rng(2), 0, 200
    configs = against_best(configs_of([1000, 960], cv=0.02, runs=2, df=4), RULE)
    needed = int(runs_to_resolve(configs, RULE, max_runs=30)[1])
    assert 4 <= needed <= 12
    for _ in range(num):
        noise = 0.02 * rng.standard_normal((2, needed))
        speeds = list(np.array([1000, 960]) * np.exp(noise.mean(axis=1)))
        more = configs_of(speeds, runs=needed, df=2 * (needed - 1))
        more["variance"] = noise.var(axis=1, ddof=1).mean() / needed
        resolved += "unresolved" not in verdicts(more)
    assert resolved >= 0.7 * num


def test_what_is_settled_asks_for_nothing() -> None:
    run = repeated((0, [500, 501, 499]), (3, [1000, 1001, 999]))
    run.add(config(num_workers=6), stage="confirm", **{SPEED: 999.0, ACCURACY: 0.9})
    assert asked_for(run) == {}
