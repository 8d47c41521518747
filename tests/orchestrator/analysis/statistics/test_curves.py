"""Curves that several trials make, and when each config reached an accuracy."""

import math
from dataclasses import replace

import pandas as pd
import pytest

import orchestrator.analysis as an
from orchestrator.analysis.report.sections.timing import times_of
from orchestrator.analysis.report.tables import Section
from orchestrator.analysis.report.view import View
from orchestrator.analysis.statistics.by_config import by_config
from orchestrator.analysis.statistics.curves import accuracy_asked, whole_curves
from orchestrator.trial import TrialState
from tests.orchestrator.analysis.made_runs import ACCURACY, MadeRun, config, factored_run


def reports(trial: str, epochs: range, epoch_s: float, base: float) -> pd.DataFrame:
    """Reports of a trial: its clocks and its epochs count the whole curve."""
    return pd.DataFrame(
        {
            "trial_id": trial,
            "epoch": list(epochs),
            "samples": [100 * epoch for epoch in epochs],
            "elapsed_s": [1.0 + epoch * epoch_s for epoch in epochs],
            "metrics.train_s": [epoch * epoch_s for epoch in epochs],
            "metrics.val_acc": [base + 0.01 * epoch for epoch in epochs],
        }
    )


def trials(**curves: str | None) -> pd.DataFrame:
    return pd.DataFrame({"trial_id": list(curves), "curve": list(curves.values())})


def test_a_curve_that_was_resumed_is_one_on_one_clock() -> None:
    parts = [reports("a", range(1, 4), 2.0, 0.5), reports("b", range(4, 10), 2.0, 0.5)]
    whole = whole_curves(pd.concat(parts), trials(a="one", b="one"))
    assert whole["trial_id"].unique().tolist() == ["b"]
    assert whole["epoch"].tolist() == list(range(1, 10))
    assert whole["metrics.train_s"].tolist() == pytest.approx([2.0 * e for e in range(1, 10)])


def test_curves_of_one_trial_and_tables_of_earlier_versions_stay_as_they_are() -> None:
    curves = pd.concat([reports("a", range(1, 4), 2.0, 0.1), reports("b", range(1, 4), 2.0, 0.1)])
    pd.testing.assert_frame_equal(whole_curves(curves, trials(a="one", b="two")), curves)
    pd.testing.assert_frame_equal(whole_curves(curves, trials(a=None, b=None)), curves)
    without = trials(a="one", b="one").drop(columns="curve")
    pd.testing.assert_frame_equal(whole_curves(curves, without), curves)


def test_a_config_with_a_curve_paused_twice_has_one_run() -> None:
    run = MadeRun()
    for accuracy in (0.7, 0.8):
        run.add(config(), state="stopped", reason="paused", curve="one", **{ACCURACY: accuracy})
    (stopped,) = by_config(run.trials, states=[TrialState.STOPPED]).to_dict("records")
    assert (stopped["num_all_runs"], stopped[ACCURACY]) == (1, pytest.approx(0.8))
    run.add(config(), curve="one", **{ACCURACY: 0.9})
    both = [TrialState.STOPPED, TrialState.COMPLETED]
    (row,) = by_config(run.trials, states=both).to_dict("records")
    assert (row["num_all_runs"], row[ACCURACY]) == (1, pytest.approx(0.9))


# -- time to accuracy


Curve = list[tuple[float, float]]
"""Pairs of a time and an accuracy."""


def asked_of(*curves: list[Curve]) -> pd.DataFrame:
    """Times of configs with so many workers as their place, each with its runs."""
    made, reports = MadeRun(), []
    made.sweep["accuracy_tolerance"] = 0.01
    for number, runs in enumerate(curves):
        for repeat, points in enumerate(runs):
            cells = {ACCURACY: points[-1][1]}
            row = made.add(config(num_workers=number), repeat=repeat, **cells)
            reports += [
                {"trial_id": row["trial_id"], "epoch": epoch, "samples": epoch,
                 "elapsed_s": 100 + s, "metrics.train_s": s, ACCURACY: value}
                for epoch, (s, value) in enumerate(points, start=1)
            ]  # fmt: skip
    times = an.time_to_accuracy(replace(made.tables, curves=pd.DataFrame(reports)))
    return times.set_index("params.num_workers")


def test_many_small_steps_beat_few_large_ones_at_equal_time() -> None:
    """A fast epoch of one step learns less by any moment than a slower one of many steps."""
    one_step = [(t / 10, 0.5 + 0.002 * t) for t in range(1, 41)]
    many_steps = [(1.0, 0.85), (2.0, 0.90), (3.0, 0.92), (4.0, 0.92)]
    found = asked_of([one_step], [many_steps])
    assert found["target"].tolist() == [pytest.approx(0.91)] * 2
    assert found.index.tolist() == [1, 0]
    assert found["reached_s"].tolist() == pytest.approx([3.0, math.nan], nan_ok=True)
    assert found["trained_s"].tolist() == [4.0, 4.0]


def test_half_of_the_runs_must_be_there() -> None:
    good, bad = [(1.0, 0.95)], [(1.0, 0.5)]
    slow = [(2.0, 0.95)]
    found = asked_of([[(9.0, 0.95)]], [good, bad], [good, bad, bad], [slow, good, slow])
    found = found.sort_index()
    expected = [9.0, 1.0, math.nan, 4 ** (1 / 3)]
    assert found["reached_s"].tolist() == pytest.approx(expected, nan_ok=True)
    assert found["num_reached"].tolist() == [1, 1, 1, 3]
    assert found["num_runs"].tolist() == [1, 2, 3, 3]


def test_curves_that_never_get_there_give_no_time() -> None:
    """The row's accuracy may be the best model's, which no report of the curve shows."""
    made = MadeRun()
    made.sweep["accuracy_tolerance"] = 0.0
    row = made.add(config(), **{ACCURACY: 0.9})
    curve = reports(row["trial_id"], range(1, 2), 2.0, 0.79).drop(columns="metrics.train_s")

    def section(curves: pd.DataFrame, tables: an.RunTables = made.tables) -> Section | None:
        return times_of(View(tables=replace(tables, curves=curves)))

    assert section(curve) is None
    assert section(curve.drop(columns=ACCURACY)) is None
    assert section(curve.assign(**{ACCURACY: 0.9}), MadeRun().tables) is None
    there = section(curve.assign(**{ACCURACY: 0.9}))
    assert there is not None
    assert "from the start of the trial's process" in there.lines[0]


def test_each_config_takes_the_epochs_of_its_curve_at_its_own_speed() -> None:
    run = factored_run()
    for report in run.curves:  # the clock of the training
        report["metrics.train_s"] = report["epoch"] * 2.0
    for row in run.rows:
        if row["stage"] == "train":
            row["metrics.epoch_s"] = 2.0
    curves = run.tables.curves.assign(
        **{"metrics.train_s": [report["metrics.train_s"] for report in run.curves]}
    )
    tables = replace(run.tables, curves=curves)
    configs = tables.configs
    reached = tables.times_to(accuracy_asked(configs, tables.rule), configs)["reached_s"].dropna()
    assert len(reached)
    epochs = (reached / configs["metrics.epoch_s"].reindex(reached.index)).round(6)
    assert set(epochs) <= {1.0, 2.0, 3.0}
    of_curve = epochs.groupby(configs["curve_ids"].reindex(epochs.index)).nunique()
    assert (of_curve == 1).all()
    assert an.time_to_accuracy(tables)["reached_s"].dropna().is_monotonic_increasing
