from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

import orchestrator.analysis as an
from tests.orchestrator.analysis.made_runs import MadeRun, config

SPEED = "metrics.samples_per_s"
CEILING = "ceiling_samples_per_s"


def made_run(**speeds: float) -> MadeRun:
    """A run with a config a speed: ``w1=100`` is one of one worker."""
    made = MadeRun()
    for name, speed in speeds.items():
        made.add_runs(config(num_workers=int(name[1:])), [speed])
    return made


def test_speedup_and_efficiency_are_over_the_smallest_value() -> None:
    table = an.scaling(made_run(w4=360.0, w1=100.0, w2=190.0).tables)
    assert table.columns[0] == "params.num_workers"
    assert table["params.num_workers"].tolist() == [1, 2, 4]
    assert table["speedup"].tolist() == pytest.approx([1.0, 1.9, 3.6])
    assert table["efficiency"].tolist() == pytest.approx([1.0, 0.95, 0.9])
    assert table["speedup_low"].tolist() == pytest.approx([1.0, np.nan, np.nan], nan_ok=True)


def test_over_no_workers_there_is_a_speedup_and_no_efficiency() -> None:
    table = an.scaling(made_run(w0=100.0, w2=190.0).tables)
    assert table["speedup"].tolist() == pytest.approx([1.0, 1.9])
    assert table["efficiency"].isna().all()


def test_the_interval_is_that_of_two_means_with_the_pooled_spread() -> None:
    made = MadeRun()
    made.add_runs(config(num_workers=1), [100.0, 121.0])
    made.add_runs(config(num_workers=2), [200.0, 242.0])
    table = an.scaling(made.tables)
    # Both variances are of log 1.21 over two runs; Student's t with two degrees of freedom.
    error = math.sqrt(2 * (math.log(1.21) ** 2 / 2) / 2)
    assert table["speedup_high"][1] == pytest.approx(2 * math.exp(4.30265 * error), rel=1e-4)
    assert table["speedup_low"][1] == pytest.approx(2 * math.exp(-4.30265 * error), rel=1e-4)


def test_configs_that_differ_in_another_knob_are_another_family(run: an.RunTables) -> None:
    table = an.scaling(run)
    families = table.groupby("family")
    assert families.ngroups == 6
    assert (families["params.num_workers"].apply(list).map(tuple) == (0, 3, 6, 8)).all()
    assert (families["params.lr"].nunique() == 1).all()
    of_batch = an.scaling(run, knob="batch_size")
    assert of_batch.groupby("family").ngroups == 8
    assert set(of_batch["params.batch_size"]) == {500, 1000, 4000}


def test_a_knob_without_an_effect_does_not_keep_the_first_config_apart() -> None:
    made = MadeRun()
    made.add_runs(config(), [100.0], **{"tags.idle": "prefetch_factor, persistent_workers"})
    for factor, speed in ((2, 200.0), (8, 300.0)):
        made.add_runs(config(num_workers=3, prefetch_factor=factor), [speed])
    table = an.scaling(made.tables)
    assert table["family"].tolist() == [0, 0, 1, 1]
    assert table["speedup"].tolist() == pytest.approx([1.0, 2.0, 1.0, 3.0])


def test_the_ceiling_is_the_slower_of_loader_and_model() -> None:
    made = MadeRun()
    for workers, speed, loader in ((0, 50.0, 100.0), (1, 90.0, 100.0), (2, 100.0, 200.0)):
        ceilings = {
            "metrics.loader_only_samples_per_s": loader,
            "metrics.compute_only_samples_per_s": 110.0,
        }
        made.add_runs(config(num_workers=workers), [speed], **ceilings)
    table = an.scaling(made.tables).set_index("params.num_workers")
    assert table[CEILING].to_dict() == pytest.approx({0: 100.0, 1: 100.0, 2: 110.0})
    columns = an.scaling(made_run(w0=1, w1=2).tables).columns.tolist()
    assert an.scaling(made.tables).columns.tolist() == columns


def test_a_figure_whose_spread_is_not_known_has_no_interval(run: an.RunTables) -> None:
    assert an.scaling(run)["speedup_low"].notna().all()
    of_memory = replace(run, sweep=replace(run.sweep, objectives=(an.minimize("peak_rss_gib"),)))
    table = an.scaling(of_memory)
    assert table.loc[table["params.num_workers"] > 0, "speedup_low"].isna().all()


def test_a_frame_of_some_configs_has_their_scaling(run: an.RunTables) -> None:
    configs = an.configs(run)
    table = an.scaling(configs[configs["params.batch_size"] == 500], run=run)
    assert table["family"].nunique() == 2


def test_composed_configs_of_a_factored_search_scale(factored: an.RunTables) -> None:
    table = an.scaling(factored)
    assert table.groupby("family").size().tolist() == [4] * 5


def test_wrong_use_is_named(run: an.RunTables, empty: an.RunTables) -> None:
    with pytest.raises(an.TableError, match=r"no knob 'num_worker'; did you mean 'num_workers'"):
        an.scaling(run, knob="num_worker")
    with pytest.raises(an.TableError, match="allocator is no number"):
        an.scaling(run, knob="allocator")
    with pytest.raises(an.TableError, match="threads was not varied; its values: 0"):
        an.scaling(run, knob="params.threads")
    with pytest.raises(an.TableError, match="none, since no config completed"):
        an.scaling(empty)
    with pytest.raises(an.TableError, match="a row a trial"):
        an.scaling(run.trials, run=run)
    with pytest.raises(an.TableError, match=r"lacks the knob column params\.lr"):
        an.scaling(an.configs(run).drop(columns="params.lr"), run=run)
    made = made_run(w0=1.0)
    made.add_runs(config(num_workers=2, lr=0.5), [3.0])
    with pytest.raises(an.TableError, match=r"no two configs differ in params\.num_workers alone"):
        an.scaling(made.tables)
