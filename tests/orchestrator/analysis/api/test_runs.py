from __future__ import annotations

import math
from pathlib import Path

import pandas as pd
import pytest

import orchestrator.analysis as an
from orchestrator.errors import SweepError
from tests.orchestrator.analysis.made_runs import BASELINE, MadeRun, config

SPEED = "metrics.samples_per_s"


def test_a_directory_is_loaded_and_its_configs_have_knobs_first(
    made: MadeRun, tmp_path_factory: pytest.TempPathFactory
) -> None:
    run = an.load(made.write(tmp_path_factory.mktemp("run")))
    assert isinstance(run, an.RunTables)
    pd.testing.assert_frame_equal(run.trials, made.trials)
    configs = an.configs(run)
    assert list(configs.columns[: len(BASELINE)]) == [f"params.{name}" for name in BASELINE]
    assert len(configs) == 24


def test_repeats_are_made_one_by_the_geometric_mean() -> None:
    made = MadeRun()
    made.add_runs(config(), [1000.0, 1210.0])
    made.add_runs(config(num_workers=3), [2000.0])
    configs = an.configs(made.tables)
    assert configs[SPEED].tolist() == pytest.approx([1100.0, 2000.0])
    assert configs["num_runs"].tolist() == [2, 1]
    assert configs["verdict"].tolist() == ["unresolved", "best"]  # two runs tell little
    # Student's t with one degree of freedom; the spread of the two runs over the root of two.
    half = 12.7062 * math.log(1.21) / math.sqrt(2) / math.sqrt(2)
    assert configs[f"{SPEED}_high"][0] / 1100.0 == pytest.approx(math.exp(half), rel=1e-4)


def test_configs_of_some_trials_are_those_of_a_run_without_the_others(run: an.RunTables) -> None:
    trials = run.trials[run.trials["params.batch_size"] == 1000]
    some, every = an.configs(trials, run=run), an.configs(run)
    expected = every[every["params.batch_size"] == 1000]
    assert some[SPEED].tolist() == expected[SPEED].tolist()
    assert (some["verdict"] == "best").sum() == 1


def test_a_frame_without_a_knob_is_refused_by_name(run: an.RunTables) -> None:
    trials = run.trials.drop(columns="params.lr")
    with pytest.raises(an.TableError, match=r"lacks the knob column params\.lr\n") as refusal:
        an.configs(trials, run=run)
    assert isinstance(refusal.value, ValueError)
    renamed = run.trials.rename(columns={"params.num_workers": "params.num_worker"})
    with pytest.raises(an.TableError, match=r"params\.num_workers; did you mean 'params\.num_work"):
        an.configs(renamed, run=run)


def test_a_frame_alone_a_name_and_a_config_are_refused(run: an.RunTables) -> None:
    with pytest.raises(an.TableError, match=r"a frame alone.*\n.*run=an\.load"):
        an.configs(run.trials)
    with pytest.raises(an.TableError, match=r"not a str\n  an\.load"):
        an.configs("runs/products_loader")  # type: ignore[arg-type]
    with pytest.raises(an.TableError, match="run= is a str"):
        an.configs(run.trials, run="runs/x")  # type: ignore[arg-type]
    with pytest.raises(an.TableError, match="a row a config"):
        an.configs(an.configs(run), run=run)
    with pytest.raises(an.TableError, match="no column 'state'; did you mean 'stat'"):
        an.configs(run.trials.rename(columns={"state": "stat"}), run=run)


def test_rows_twice_and_rows_of_another_run_are_not_pooled(
    run: an.RunTables, factored: an.RunTables
) -> None:
    with pytest.raises(an.TableError, match="holds trial 000000000000 twice"):
        an.configs(pd.concat([run.trials, run.trials]), run=run)
    with pytest.raises(an.TableError, match="is not of the run products_loader"):
        an.configs(factored.trials, run=run)


def test_a_run_without_a_completed_trial_has_no_configs_and_all_columns(
    run: an.RunTables, empty: an.RunTables
) -> None:
    configs = an.configs(empty)
    assert configs.empty
    assert {"params.lr", SPEED, "verdict", "on_front", "num_runs"} <= {*configs.columns}


def test_each_column_is_described(run: an.RunTables) -> None:
    told = an.describe(run).set_index("column")
    assert list(told.index) == list(run.trials.columns)
    workers = told.loc["params.num_workers"]
    assert [*workers[["kind", "role", "meaning"]]] == ["knob", "systems", "what num_workers does"]
    assert (workers["num_measured"], workers["num_values"]) == (len(run.trials), 4)
    speed = told.loc[SPEED]
    assert [*speed[["kind", "role", "unit"]]] == ["metric", "", "1/s"]
    assert speed["num_measured"] == run.trials[SPEED].notna().sum() < len(run.trials)
    assert told.loc["tags.bound", "kind"] == "tag"


def test_what_is_no_run_is_refused_with_where_runs_are(tmp_path: Path) -> None:
    with pytest.raises(SweepError, match=r"products_loader: .*no such folder.*\n.*tracking_uri="):
        an.load("products_loader")
    with pytest.raises(SweepError, match=r"no sweep\.json"):
        an.load(tmp_path)
    with pytest.raises(an.TableError, match="takes a path or a name, not a int"):
        an.load(3)  # type: ignore[arg-type]
