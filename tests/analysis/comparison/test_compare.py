from __future__ import annotations

import copy
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from analysis.comparison.compare import Run, compare, holm
from analysis.report.console import verdict
from analysis.statistics.common_change import median_interval
from orchestrator.errors import SweepError
from tests.analysis.made_runs import MadeRun, config

SPEED = "metrics.samples_per_s"
CONFIGS = [config(num_workers=n) for n in (0, 3, 6, 8)]


def run_of(
    seed: int,
    *,
    factor: float = 1.0,
    repeats: int = 3,
    noise: float = 0.02,
    day: float = 1.0,
    **cells: object,
) -> Run:
    """Four configs of 1,000 samples/s times ``day``; the third one ``factor`` times as fast."""
    trials, sweep = base_run(repeats)
    rng = np.random.default_rng(seed)
    third = np.where(trials["params.num_workers"] == CONFIGS[2]["num_workers"], factor, 1.0)
    speeds = 1000 * day * third * np.exp(noise * rng.standard_normal(len(trials)))
    return Run(trials=trials.assign(**{SPEED: speeds, **cells}), sweep=copy.deepcopy(sweep))


@cache
def base_run(repeats: int) -> tuple[pd.DataFrame, dict[str, Any]]:
    made = MadeRun()
    for repeat in range(repeats):
        for c in CONFIGS:
            made.add(c, repeat=repeat)
    return made.trials, made.sweep


def test_runs_that_never_reported_the_accuracy_are_compared_by_their_speed() -> None:
    first, second = (
        Run(trials=run.trials.drop(columns="metrics.val_acc"), sweep=run.sweep)
        for run in (run_of(1), run_of(2, factor=1.3))
    )
    table = compare(first, second).table
    assert table["different"].tolist() == [True, False, False, False]
    assert table[["accuracy_first", "accuracy_second"]].isna().all(axis=None)


def test_the_ratio_and_its_interval_are_welchs() -> None:
    first, second = run_of(1), run_of(2, repeats=4, factor=1.1)
    row = compare(first, second).table.set_index("params.num_workers").loc[6]
    logs = [
        np.log(run.trials.loc[run.trials["params.num_workers"] == 6, SPEED].astype(float))
        for run in (second, first)
    ]
    test = stats.ttest_ind(*logs, equal_var=False)
    interval = test.confidence_interval(0.95)
    assert row["ratio"] == pytest.approx(np.exp(logs[0].mean() - logs[1].mean()))
    assert (row["low"], row["high"]) == pytest.approx((np.exp(interval.low), np.exp(interval.high)))


def test_holm_corrects_as_its_definition_says() -> None:
    adjusted = holm(np.array([0.04, np.nan, 0.01, 0.03]))
    assert adjusted[[0, 2, 3]] == pytest.approx([0.06, 0.03, 0.06])
    assert np.isnan(adjusted[1])


def test_a_run_against_its_like_is_seldom_called_different() -> None:
    called = sum(compare(run_of(s), run_of(s + 500)).table["different"].any() for s in range(100))
    assert called <= 10  # 5 expected; more than 10 comes once in 90


def test_sessions_that_the_host_tells_apart_are_seldom_called_different() -> None:
    days = np.exp(0.05 * np.random.default_rng(0).standard_normal((100, 2)))
    called = sum(
        compare(run_of(s, day=one), run_of(s + 500, day=other)).table["different"].any()
        for s, (one, other) in enumerate(days)
    )
    assert called <= 10  # 5 expected; more than 10 comes once in 90


def test_the_days_own_interval_holds_its_change() -> None:
    """Of the two sessions, as their runs had it: 95 of 100, not 80."""
    held = 0
    for s in range(100):
        (common,) = compare(run_of(s), run_of(s + 500, day=1.1)).common
        held += common.low <= 1.1 <= common.high
    assert held >= 89  # fewer come once in 100


@pytest.mark.parametrize("day", [0.9, 1.0, 1.2])
def test_a_planted_difference_is_found_and_only_there(day: float) -> None:
    comparison = compare(run_of(1, repeats=5), run_of(2, repeats=5, factor=1.15, day=day))
    table = comparison.table
    assert table.loc[table["different"], "params.num_workers"].tolist() == [6]
    row = table[table["different"]].iloc[0]
    assert row["own"] == pytest.approx(1.15, rel=0.03)
    assert row["own_low"] < 1.15 < row["own_high"]
    assert row["ratio"] == pytest.approx(1.15 * day, rel=0.03)
    (common,) = comparison.common
    assert common.ratio == pytest.approx(day, rel=0.03)
    assert ("no common change is shown" in common.text) == (day == 1.0)


def test_a_change_of_all_configs_may_be_the_hosts() -> None:
    (common,) = compare(run_of(1, repeats=5), run_of(2, repeats=5, day=1.2)).common
    assert "the host on the day as much as what was changed" in common.text


def test_a_config_alone_cannot_be_told_from_its_session() -> None:
    first, second = (
        Run(trials=run.trials[run.trials["params.num_workers"] == 6], sweep=run.sweep)
        for run in (run_of(1), run_of(2, factor=1.5))
    )
    comparison = compare(first, second)
    row = comparison.table.iloc[0]
    assert not row["different"]
    assert verdict(row) == "no other config"
    assert row["low"] > 1.3
    assert "one config, 1.5" in comparison.common[0].text


def test_one_run_on_a_side_is_no_ground_for_a_verdict() -> None:
    table = compare(run_of(1, repeats=1), run_of(2, factor=2.0)).table
    assert table["p_value"].isna().all()
    assert not table["different"].any()
    assert table[["low", "own"]].isna().all(axis=None)
    assert set(table.apply(verdict, axis="columns")) == {"one run"}
    assert table["ratio"].max() == pytest.approx(2.0, rel=0.1)


def test_of_single_runs_of_many_configs_the_common_change_has_an_interval() -> None:
    held = 0
    for s in range(100):
        logs = np.random.default_rng(s).normal(np.log(1.1), 0.03, size=9)
        low, high = median_interval(logs)
        held += low <= 1.1 <= high
    assert held >= 89  # 96 expected; fewer than 89 come once in 500
    assert np.isnan(median_interval(np.zeros(5))).all()
    (common,) = compare(run_of(1, repeats=1), run_of(2, repeats=1)).common
    assert "nothing is known of its error" in common.text


def test_stages_are_compared_apart(made: MadeRun) -> None:
    run = Run(trials=made.trials, sweep=made.sweep)
    table = compare(run, run).table
    assert table["stage"].value_counts().to_dict() == {"train": 24, "confirm": 2}


def change(section: str, key: str, value: object) -> Callable[[dict[str, Any]], None]:
    def apply(sweep: dict[str, Any]) -> None:
        sweep[section] = {**sweep[section], key: value}

    return apply


@pytest.mark.parametrize(
    ("alter", "named"),
    [
        (change("hardware", "cpu_model", "EPYC 7763"), "hardware.cpu_model: Xeon 2.2 GHz and EPYC"),
        (change("hardware", "gpus", ["H200"]), r"hardware.gpus: \[\] and \['H200'\]"),
        (change("versions", "torch", "2.11.0"), "versions.torch: 2.15.0 and 2.11.0"),
        (change("versions", "glibc", "2.41"), "versions.glibc: not recorded and 2.41"),
        (lambda sweep: sweep.update(cores_per_trial=2), "cores_per_trial: 4 and 2"),
        (lambda sweep: sweep.update(data_fingerprint="abc"), "data_fingerprint: 9f0c1d and abc"),
        (lambda sweep: sweep["hardware"].pop("cpu_model"), "Xeon 2.2 GHz and not recorded"),
    ],
)
def test_runs_of_differing_conditions_are_refused_by_key_and_values(
    alter: Callable[[dict[str, Any]], object], named: str
) -> None:
    first, second = run_of(1), run_of(2)
    sweep = copy.deepcopy(dict(second.sweep))
    alter(sweep)
    with pytest.raises(SweepError, match=named) as refused:
        compare(first, Run(trials=second.trials, sweep=sweep))
    key = named.replace("\\", "").split(":")[0] if ":" in named else "hardware.cpu_model"
    assert f"--across {key}" in refused.value.hint
    assert len(compare(first, Run(trials=second.trials, sweep=sweep), across=[key]).table) == 4


def test_what_runs_outside_a_timed_step_may_differ() -> None:
    first, second = run_of(1), run_of(2)
    sweep = second.sweep | {"git": {"commit": "other"}, "hardware": {**second.sweep["hardware"]}}
    sweep["versions"] = {**sweep["versions"], "mlflow": "4.0"}
    sweep["hardware"]["memory_gib"] = 15.61
    assert len(compare(first, Run(trials=second.trials, sweep=sweep)).table) == 4


def test_rows_of_differing_devices_are_kept_apart_and_named() -> None:
    first, second = run_of(1), run_of(2)
    moved = second.trials.copy()
    moved.loc[moved["params.num_workers"] == 3, "device"] = "H200"
    comparison = compare(first, Run(trials=moved, sweep=second.sweep))
    assert sorted(comparison.table["params.num_workers"]) == [0, 6, 8]
    assert {str(key): n for key, n in comparison.kept_apart.items()} == {"device: cpu and H200": 1}


def test_where_no_row_ran_alike_the_difference_is_the_message() -> None:
    first, second = run_of(1), run_of(2, isolation="shared")
    with pytest.raises(SweepError, match="isolation: leased and shared"):
        compare(first, second)


def test_a_difference_between_rows_may_be_what_is_compared() -> None:
    first, second = run_of(1), run_of(2, factor=1.0, isolation="shared")
    with pytest.raises(SweepError) as refused:
        compare(first, second)
    assert refused.value.hint.endswith("--across isolation")
    table = compare(first, second, across=["isolation"]).table
    assert len(table) == 4
    assert set(table["isolation"]) == {"leased and shared"}


@pytest.mark.parametrize(
    ("column", "values"),
    [("tags.cpu_model", ("Xeon", "EPYC")), ("tags.allocator", ("tuned", "default")),
     ("tags.clocks", ("performance", "powersave")),
     ("tags.gpu_settings", ("driver 1, power limit 700 W", "driver 1, power limit 300 W")),
     ("tags.threads", ("1", "2")),
     ("tags.deterministic", ("off", "algorithms"))],
)  # fmt: skip
def test_what_rows_record_of_their_conditions_is_named_with_both_values(
    column: str, values: tuple[str, str]
) -> None:
    first, second = (run_of(s, **{column: v}) for s, v in enumerate(values))
    with pytest.raises(SweepError, match=f"{column}: {values[0]} and {values[1]}"):
        compare(first, second)
    with pytest.raises(SweepError, match=f"{column}: {values[0]} and not recorded"):
        compare(first, run_of(2))
    assert len(compare(first, run_of(2, **{column: values[0]})).table) == 4


def test_rows_of_differing_nodes_are_kept_apart_by_their_hardware() -> None:
    first, second = run_of(1), run_of(2)
    moved = second.trials.copy()
    moved.loc[moved["params.num_workers"] == 3, "node"] = "node-b"
    nodes = {"node-a": {"cpu_model": "Xeon"}, "node-b": {"cpu_model": "EPYC"}}
    runs = [Run(trials=moved, sweep={**run.sweep, "nodes": nodes}) for run in (first, second)]
    assert len(compare(*runs).table) == 4
    other = {**second.sweep, "nodes": {**nodes, "node-b": {"cpu_model": "Xeon 8"}}}
    comparison = compare(runs[0], Run(trials=moved, sweep=other))
    assert {str(key) for key in comparison.kept_apart} == {
        "hardware: cpu_model EPYC and cpu_model Xeon 8"
    }


def test_a_trainable_whose_source_changed_is_said() -> None:
    first, second = run_of(1), run_of(2)
    assert compare(first, second).notes == ()
    runs = [
        Run(trials=run.trials, sweep={**run.sweep, "source_hash": text})
        for run, text in ((first, "a"), (second, "b"))
    ]
    assert "source differs" in compare(*runs).notes[0]


def test_where_no_config_is_in_both_the_knob_is_named() -> None:
    first, second = run_of(1), run_of(2)
    other = second.trials.assign(**{"params.allocator": "default"})
    with pytest.raises(SweepError) as refused:
        compare(first, Run(trials=other, sweep=second.sweep))
    assert "params.allocator: tuned and default" in refused.value.hint


def test_a_knob_that_only_one_run_knows_counts_as_its_default_in_the_other() -> None:
    first, second = run_of(1), run_of(2)
    knobs = {**second.sweep["knobs"], "compile": {"default": False, "allowed": "a bool"}}
    newer = second.trials.assign(**{"params.compile": second.trials["params.num_workers"] == 3})
    table = compare(first, Run(trials=newer, sweep={**second.sweep, "knobs": knobs})).table
    assert sorted(table["params.num_workers"]) == [0, 6, 8]


def test_runs_that_did_not_complete_are_left_out() -> None:
    first, second = run_of(1), run_of(2)
    lost = second.trials.copy()
    lost.loc[lost["params.num_workers"] == 8, "state"] = "stopped"
    table = compare(first, Run(trials=lost, sweep=second.sweep)).table
    assert 8 not in table["params.num_workers"].tolist()
    assert pd.api.types.is_bool_dtype(table["different"])
