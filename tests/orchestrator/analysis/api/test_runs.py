"""A run, its configs, its front, its answer."""

import json
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import orchestrator.analysis as an
from orchestrator.analysis.tables.checks import column_named, objectives_of
from orchestrator.errors import SweepError
from orchestrator.metrics import Goal, at_most
from tests.orchestrator.analysis.made_runs import BASELINE, MadeRun, config

SPEED, ACCURACY = "metrics.samples_per_s", "metrics.val_acc"
BOTH = ["samples_per_s", "val_acc"]

# Two objectives, larger better: the staircase of three steps, one dominated, one not known.
#   3 |*
#   2 |   *        .
#   1 |      *
#     +--1--2--3
FRAME = pd.DataFrame(
    {SPEED: [1.0, 2.0, 3.0, 1.0, 9.0], ACCURACY: [3.0, 2.0, 1.0, 2.0, math.nan]},
    index=list("abcde"),
)


def test_a_directory_is_loaded_and_its_configs_have_knobs_first(
    made: MadeRun, tmp_path_factory: pytest.TempPathFactory
) -> None:
    run = an.load(made.write(tmp_path_factory.mktemp("run")))
    assert isinstance(run, an.RunTables)
    pd.testing.assert_frame_equal(run.trials, made.trials)
    configs = an.configs(run)
    assert set(configs.columns[: len(BASELINE)]) == {f"params.{name}" for name in BASELINE}
    assert len(configs) == 24


def test_configs_of_some_trials_are_those_of_a_run_without_the_others(run: an.RunTables) -> None:
    some, every = an.configs(run.only(run.trials["params.batch_size"] == 1000)), an.configs(run)
    expected = every[every["params.batch_size"] == 1000]
    assert some[SPEED].tolist() == expected[SPEED].tolist()
    assert (some["verdict"] == "best").sum() == 1


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (
            lambda run: an.pareto_front(run.trials, BOTH),
            r"a row a trial.*\n  an\.pareto_front\(an\.configs",
        ),
        (
            lambda run: an.pareto_front(run, ["samples_per_s", an.maximize("val_ac")]),
            "no column 'val_ac'; did you mean 'val_acc'",
        ),
        (lambda run: an.pareto_front(run, ["samples_per_sec"]), "mean 'samples_per_s'"),
        (lambda run: an.pareto_front(FRAME), r"does not say what its sweep.*\n.*objectives=\["),
        (lambda run: an.pareto_front(run, []), "one, two or three objectives, not 0"),
        (lambda run: an.pareto_front(run, [at_most("val_acc", 1)]), "every objective has a bound"),
    ],
)
def test_wrong_use_is_one_message(
    ask: Callable[[an.RunTables], Any], message: str, run: an.RunTables
) -> None:
    with pytest.raises(an.TableError, match=message) as refused:
        ask(run)
    assert isinstance(refused.value, (SweepError, ValueError))


def test_a_run_without_a_completed_trial_has_no_configs_and_all_columns(
    empty: an.RunTables,
) -> None:
    configs = an.configs(empty)
    assert configs.empty
    assert {"params.lr", SPEED, "verdict", "on_front", "num_runs"} <= {*configs.columns}
    assert an.pareto_front(empty).empty


def test_each_column_is_described(run: an.RunTables) -> None:
    described = an.describe(run).set_index("column")
    assert list(described.index) == list(run.trials.columns)
    workers = described.loc["params.num_workers"]
    assert [*workers[["kind", "role", "meaning"]]] == ["knob", "systems", "what num_workers does"]
    assert (workers["num_measured"], workers["num_values"]) == (len(run.trials), 4)
    speed = described.loc[SPEED]
    assert [*speed[["kind", "role", "unit"]]] == ["metric", "", "1/s"]
    assert speed["num_measured"] == run.trials[SPEED].notna().sum() < len(run.trials)
    assert described.loc["tags.bound", "kind"] == "tag"


def test_every_column_of_every_frame_has_a_meaning(
    run: an.RunTables, factored: an.RunTables
) -> None:
    for frame in (run.trials, an.configs(run), an.configs(factored), run.curves, run.steps):
        described = an.describe(run, frame)
        assert described.loc[described["meaning"] == "", "column"].tolist() == []
    made = MadeRun()
    made.add(config(), **{"metrics.kteps": 3.0, "metrics.goodput_low": 1.0})
    meanings = an.describe(made.tables).set_index("column")["meaning"]
    assert meanings["metrics.kteps"] == "reported by the trainable"
    assert meanings["metrics.goodput_low"] == "95 % interval of goodput, low end"


def test_what_is_no_run_is_refused_with_where_runs_are(tmp_path: Path) -> None:
    with pytest.raises(SweepError, match=r"products_loader: .*no such folder"):
        an.load("products_loader")
    with pytest.raises(SweepError, match=r"no sweep\.json"):
        an.load(tmp_path)


def test_a_run_is_recommended_from_as_its_report_does(run: an.RunTables) -> None:
    best = an.recommend(run)
    assert (best.config["num_workers"], best.config["batch_size"]) == (3, 4000)
    assert best.speedup.ratio > 3
    assert repr(best) == f"<Findings: {best.sentence} (confirmed)>"  # a notebook's cell shows it


def test_a_smaller_budget_is_recommended_from_its_rows_alone(run: an.RunTables) -> None:
    rows = run.trials[run.trials["params.num_workers"] != 3]
    assert an.recommend(run, where=rows).config["num_workers"] != 3


def test_names_are_those_of_the_page_and_varied_knobs_come_first(run: an.RunTables) -> None:
    assert dir(an) == sorted(an.__all__)
    first = [f"params.{name}" for name in ("num_workers", "batch_size", "lr")]
    assert an.configs(run).columns[:3].tolist() == first


def test_the_front_is_the_staircase_the_best_of_the_first_objective_first() -> None:
    assert an.pareto_front(FRAME, BOTH).index.tolist() == ["c", "b", "a"]


def test_directions_of_names_are_those_of_the_figures() -> None:
    frame = FRAME.assign(**{"metrics.peak_rss_gib": [1.0, 5, 5, 5, 5]}, euros=[5.0, 1, 5, 5, 5])
    assert an.pareto_front(frame, "peak_rss_gib").index.tolist() == ["a"]
    assert an.pareto_front(frame, ["maximize:peak_rss_gib"]).index.tolist() == [*"bcde"]
    assert an.pareto_front(frame, [an.minimize("euros")]).index.tolist() == ["b"]
    with pytest.raises(an.TableError, match=r"'euros' does not say.*\n  write maximize:euros"):
        an.pareto_front(frame, ["euros"])


OWN = pd.DataFrame({"metrics.own_s": [1.0], "euros": [2.0]})


def test_a_name_means_a_figure_or_a_column_and_has_a_direction() -> None:
    assert column_named(OWN, "own_s", "f") == "metrics.own_s"
    assert column_named(OWN, "euros", "f") == "euros"
    with pytest.raises(an.TableError, match=r"f: .*'own'.*\n  columns: "):
        column_named(OWN, "own", "f")
    for name, goal in (("own_s", Goal.MINIMIZE), ("maximize:euros", Goal.MAXIMIZE)):
        assert objectives_of(name, OWN, "f")[0].goal is goal


def test_the_objectives_survive_filters_sorts_new_columns_and_parquet(
    run: an.RunTables, tmp_path: Path
) -> None:
    configs = an.configs(run)
    changed = configs[configs["params.num_workers"] > 3].sort_values("metrics.val_acc").copy()
    changed["own"] = 1
    changed.to_parquet(tmp_path / "configs.parquet")
    for frame in (changed, pd.read_parquet(tmp_path / "configs.parquet")):
        assert objectives_of(None, frame, "f") == run.sweep.objectives


def test_a_run_and_its_frames_have_one_front_also_filtered(run: an.RunTables) -> None:
    configs = an.configs(run)
    front = an.pareto_front(run)
    pd.testing.assert_frame_equal(front, an.pareto_front(configs))
    assert set(front.index) == set(configs.index[configs["on_front"]])
    kept = configs[configs["params.num_workers"] > 0].sort_values(SPEED).assign(mine=1)
    again = an.pareto_front(kept)
    assert set(again.index) == set(front.index)  # none of the front was without workers


def test_a_bound_of_the_sweep_keeps_configs_off_the_front(run: an.RunTables) -> None:
    bounded = (*run.sweep.objectives, at_most("peak_rss_gib", 1.0))
    limited = replace(run, sweep=replace(run.sweep, objectives=bounded))
    front = an.pareto_front(limited)
    assert len(front) > 0
    assert (front["params.num_workers"] == 0).all()


# -- export

TABLES = ["trials", "configs", "front", "curves", "steps", "columns"]


def test_parquet_reads_back_equal_types_included(run: an.RunTables, tmp_path: Path) -> None:
    paths = an.export(run, tmp_path / "new" / "folder", format="parquet")
    assert [path.name for path in paths] == [f"{name}.parquet" for name in TABLES]
    expected = {"trials": run.trials, "configs": an.configs(run), "curves": run.curves}
    for name, frame in expected.items():
        found = pd.read_parquet(tmp_path / "new" / "folder" / f"{name}.parquet")
        lists = [c for c in frame.columns if isinstance(frame[c].iloc[0], tuple)]
        for column in lists:
            assert found[column].map(tuple).tolist() == frame[column].tolist()
        pd.testing.assert_frame_equal(found.drop(columns=lists), frame.drop(columns=lists))


def test_a_csv_reads_back_equal(run: an.RunTables, tmp_path: Path) -> None:
    an.export(run, tmp_path)
    dtypes: Any = run.trials.dtypes.drop("started_at").to_dict()
    found = pd.read_csv(tmp_path / "trials.csv", dtype=dtypes, parse_dates=["started_at"])
    pd.testing.assert_frame_equal(
        found.astype({"started_at": run.trials["started_at"].dtype}), run.trials
    )
    configs = pd.read_csv(tmp_path / "configs.csv")
    assert (
        configs["trial_ids"].map(json.loads).map(tuple).tolist()
        == an.configs(run)["trial_ids"].tolist()
    )


def test_candidates_of_a_factored_search_are_a_table(
    factored: an.RunTables, tmp_path: Path
) -> None:
    assert [p.stem for p in an.export(factored, tmp_path)] == [*TABLES, "candidates"]


def test_a_wrong_export_is_named(run: an.RunTables, tmp_path: Path) -> None:
    with pytest.raises(an.TableError, match="unknown format 'parqet'; did you mean 'parquet'"):
        an.export(run, tmp_path, format="parqet")
    (tmp_path / "file").write_text("")
    with pytest.raises(SweepError, match="file: cannot be used"):
        an.export(run, tmp_path / "file")
