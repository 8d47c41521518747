"""Times to an accuracy of composed configs: epochs of a curve, at the speed of a setting."""

from __future__ import annotations

import pytest

from orchestrator.analysis.composition.time_to_target import composed_time_to_accuracy
from tests.orchestrator.analysis.made_runs import factored_run


def test_each_config_takes_the_epochs_of_its_curve_at_its_own_speed() -> None:
    run = factored_run()
    for report in run.curves:  # the clock is that of the training
        report["metrics.train_s"] = report["epoch"] * 2.0
    for row in run.rows:
        if row["stage"] == "train":
            row["metrics.epoch_s"] = 2.0
    tables = run.tables
    curves = tables.whole_curves.assign(
        **{"metrics.train_s": [report["metrics.train_s"] for report in run.curves]}
    )
    configs = tables.configs
    times = composed_time_to_accuracy(configs, tables.trials, curves, tables.rule)
    assert times is not None
    assert set(times.configs.index) == set(configs.index)
    reached = times.configs["reached_s"].dropna()
    epochs = (reached / configs["metrics.epoch_s"].reindex(reached.index)).round(6)
    assert set(epochs) <= {1.0, 2.0, 3.0}
    of_curve = epochs.groupby(configs["curve_ids"].reindex(epochs.index)).nunique()
    assert (of_curve == 1).all()
    assert times.common_s == pytest.approx(reached.min())
    assert reached.is_monotonic_increasing


def test_none_where_no_curve_is_known() -> None:
    tables = factored_run().tables
    nothing = tables.curves.iloc[:0]
    assert composed_time_to_accuracy(tables.configs, tables.trials, nothing, tables.rule) is None
