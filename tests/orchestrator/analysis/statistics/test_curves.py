"""Curves that several trials make: which row counts, and the reports stitched together."""

import numpy as np
import pandas as pd
import pytest

from orchestrator.analysis.statistics.by_config import by_config
from orchestrator.analysis.statistics.curves import last_of_curves, whole_curves
from orchestrator.trial import Stage, TrialState
from tests.orchestrator.analysis.made_runs import ACCURACY, MadeRun, config


def reports(trial: str, epochs: range, epoch_s: float, base: float) -> pd.DataFrame:
    """Reports of a trial: its clocks, like its epochs, are those of the whole curve."""
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


def test_a_curve_that_was_gone_on_with_is_one_on_one_clock() -> None:
    parts = [reports("a", range(1, 4), 2.0, 0.5), reports("b", range(4, 10), 2.0, 0.5)]
    whole = whole_curves(pd.concat(parts), trials(a="one", b="one"))
    assert whole["trial_id"].unique().tolist() == ["b"]
    assert whole["epoch"].tolist() == list(range(1, 10))
    assert whole["metrics.train_s"].tolist() == pytest.approx([2.0 * e for e in range(1, 10)])


def test_a_checkpoint_that_was_gone_leaves_the_later_trial_alone() -> None:
    parts = [reports("a", range(1, 4), 2.0, 0.1), reports("b", range(1, 10), 1.0, 0.5)]
    whole = whole_curves(pd.concat(parts), trials(a="one", b="one"))
    pd.testing.assert_frame_equal(whole, parts[1].reset_index(drop=True), check_dtype=False)


def test_three_parts_of_which_the_middle_one_began_anew() -> None:
    parts = [
        reports("a", range(1, 2), 2.0, 0.1),
        reports("b", range(1, 4), 1.0, 0.5),
        reports("c", range(4, 10), 1.0, 0.5),
    ]
    whole = whole_curves(pd.concat(parts), trials(a="one", b="one", c="one"))
    assert whole["metrics.train_s"].tolist() == pytest.approx(list(range(1, 10)))
    assert whole["metrics.val_acc"].tolist() == pytest.approx(
        [0.5 + 0.01 * e for e in range(1, 10)]
    )


def test_curves_of_one_trial_and_tables_of_earlier_versions_stay_as_they_are() -> None:
    curves = pd.concat([reports("a", range(1, 4), 2.0, 0.1), reports("b", range(1, 4), 2.0, 0.1)])
    pd.testing.assert_frame_equal(whole_curves(curves, trials(a="one", b="two")), curves)
    pd.testing.assert_frame_equal(whole_curves(curves, trials(a=None, b=None)), curves)
    without = trials(a="one", b="one").drop(columns="curve")
    pd.testing.assert_frame_equal(whole_curves(curves, without), curves)


def test_the_last_row_of_each_curve_counts() -> None:
    rows = trials(a="one", b="two", c="one", d=None, e=None)
    assert last_of_curves(rows).tolist() == [False, True, True, True, True]


def test_a_config_whose_curve_was_paused_twice_has_one_run() -> None:
    run = MadeRun()
    for accuracy in (0.7, 0.8):
        run.add(config(), state="stopped", reason="paused", curve="one", **{ACCURACY: accuracy})
    (stopped,) = by_config(run.trials, states=[TrialState.STOPPED]).to_dict("records")
    assert (stopped["num_all_runs"], stopped[ACCURACY]) == (1, pytest.approx(0.8))
    run.add(config(), curve="one", **{ACCURACY: 0.9})
    both = [TrialState.STOPPED, TrialState.COMPLETED]
    (row,) = by_config(run.trials, states=both).to_dict("records")
    assert (row["num_all_runs"], row[ACCURACY]) == (1, pytest.approx(0.9))


def test_a_run_of_speed_alone_counts_for_the_speed_alone() -> None:
    run = MadeRun()
    run.add(config(), stage="confirm", **{"metrics.train_s": 60.0, ACCURACY: 0.9})
    learned = dict.fromkeys([ACCURACY, "metrics.train_loss", "metrics.test_acc"], np.nan)
    learned["metrics.first_loss"] = 2.3
    for repeat in (1, 2):
        row = run.add(config(), stage="confirm", repeat=repeat)
        row |= learned | {"metrics.train_s": 2.0}
    (row,) = by_config(run.trials, stage=Stage.CONFIRM).to_dict("records")
    assert (row["num_runs"], row["num_all_runs"]) == (3, 1)
    assert row[ACCURACY] == pytest.approx(0.9)
    assert row["metrics.train_s"] == pytest.approx(60.0)
