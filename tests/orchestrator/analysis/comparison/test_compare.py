"""Two runs compared config by config, and the verdict in a sentence."""

import re
from dataclasses import replace

import pandas as pd
import pytest

from orchestrator.analysis.comparison.changes import Verdict
from orchestrator.analysis.comparison.compare import Comparison, compare
from orchestrator.errors import SweepError
from orchestrator.metrics import Objective, at_least, maximize
from tests.orchestrator.analysis.comparison.drawn import run_of, with_cells, with_sweep
from tests.orchestrator.analysis.made_runs import MadeRun


@pytest.mark.parametrize("day", [0.9, 1.0, 1.2])
def test_a_planted_difference_is_found_and_only_there(day: float) -> None:
    comparison = compare(run_of(1, repeats=5), run_of(2, repeats=5, factor=1.15, day=day))
    table = comparison.table
    row = table.loc[table["own"].idxmax()]
    assert row["params.num_workers"] == 6
    assert (table["own_low"] > 1.02).sum() == 1
    assert row["own"] == pytest.approx(1.15, rel=0.03)
    assert row["own_low"] < 1.15 < row["own_high"]
    assert row["ratio"] == pytest.approx(1.15 * day, rel=0.03)
    (common,) = comparison.common.to_dict("records")
    assert common["change"] == pytest.approx(day, rel=0.03)
    assert (common["low"] <= 1 <= common["high"]) == (day == 1.0)
    assert ("the host on the day" in comparison.common_texts[0]) == (day != 1.0)


def test_a_single_config_has_no_own_change() -> None:
    first, second = (
        replace(run, trials=run.trials[run.trials["params.num_workers"] == 6])
        for run in (run_of(1), run_of(2, factor=1.5))
    )
    comparison = compare(first, second)
    row = comparison.table.iloc[0]
    assert pd.isna(row["own"])
    assert row["low"] > 1.3
    assert comparison.common_texts[0].startswith("the one config (train) is 1.5")


def test_without_any_repeats_there_is_no_verdict() -> None:
    comparison = compare(run_of(1, repeats=1), run_of(2, repeats=1, factor=0.5))
    table = comparison.table
    assert table[["low", "own_low"]].isna().all(axis=None)
    assert comparison.verdict is Verdict.NOT_DECIDED
    assert "is not known: too few runs" in comparison.sentence
    assert (comparison.common["num_configs"].item(), comparison.common_texts) == (4, [])


def test_stages_are_compared_separately(made: MadeRun) -> None:
    table = compare(made.tables, made.tables).table
    assert table["stage"].value_counts().to_dict() == {"train": 24, "confirm": 2}


def test_another_source_of_the_trainable_is_a_note() -> None:
    first, second = run_of(1), run_of(2)
    assert compare(first, second).notes == ()
    notes = compare(with_sweep(first, source_hash="a"), with_sweep(second, source_hash="b")).notes
    assert "source differs" in notes[0]


@pytest.mark.parametrize("tolerance", [-0.1, 1.0, float("nan")])
def test_a_tolerance_that_is_no_share_is_refused(tolerance: float) -> None:
    with pytest.raises(SweepError, match=r"tolerance: .* is not allowed"):
        compare(run_of(1), run_of(2), tolerance=tolerance)


def limits_with(accuracy: Objective) -> list[float]:
    """Return the tolerated changes of the accuracy if it is this objective."""
    first, second = (
        with_sweep(run, objectives=(run.sweep.objectives[0], accuracy))
        for run in (run_of(1), run_of(2))
    )
    changes = compare(first, second).changes
    return changes.loc[changes["metric"] == "val_acc", "limit_high"].tolist()


def test_the_accuracy_may_fall_by_the_sweeps_own_tolerance() -> None:
    assert limits_with(maximize("val_acc")) == [0.005] * 5
    assert limits_with(at_least("val_acc", 0.9)) == [0.005] * 5
    assert limits_with(maximize("val_acc", tolerance=0.02)) == [0.02] * 5
    levels = run_of(1).trials.groupby("params.num_workers")["metrics.val_acc"].mean()
    limits = limits_with(maximize("val_acc", tolerance=0.02, relative=True))
    assert sorted(limits[1:]) == pytest.approx(sorted(0.02 * levels))


def compared(**second: float) -> Comparison:
    return compare(run_of(1, repeats=5), run_of(2, repeats=5, **second))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("second", "sentence"),
    [
        (
            {"day": 0.85},
            r"regression in samples_per_s: all 4 configs together \(train\) are 0.849x as fast as "
            r"in the first run \(95 % interval 0.838 to 0.859; tolerance 3 %\)$",
        ),
        ({"factor": 0.8}, r"regression in samples_per_s: num_workers=6 \(train\) is 0\.8"),
        ({"factor": 1.3}, r"improvement in samples_per_s: num_workers=6 \(train\) is 1\.3"),
        ({}, r"not decided: no regression beyond 3 % shown; all 4 .*; open: \d of 10 changes$"),
    ],
)
def test_the_verdict_is_reported_with_its_figure(second: dict[str, float], sentence: str) -> None:
    comparison = compared(**second)
    assert re.match(sentence, comparison.sentence)
    assert repr(comparison) == f"<Comparison: {comparison.sentence}>"


def test_an_accuracy_that_falls_beyond_its_tolerance_is_a_regression_in_points() -> None:
    second = run_of(2, repeats=5)
    second = with_cells(second, **{"metrics.val_acc": second.trials["metrics.val_acc"] - 0.02})
    assert compare(run_of(1, repeats=5), second).sentence == (
        "regression in val_acc: all 4 configs together (train): val_acc is 2 points worse than in "
        "the first run (95 % interval -2.03 to -1.97; tolerance 0.5 points), and 4 more"
    )


def test_an_interval_wider_than_a_factor_of_one_and_a_half_gives_no_ratio() -> None:
    wild = compare(run_of(1, noise=0.6), run_of(2, noise=0.6))
    assert "is not known: its runs differ too much" in wild.sentence
    assert not re.search(r"\dx", wild.sentence)
    slow = compare(run_of(1, noise=0.25), run_of(2, noise=0.25, day=0.2))
    assert re.search(r"are less than 0\.\d\dx as fast as in the first run", slow.sentence)
