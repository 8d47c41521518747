"""The verdict on two runs in a sentence."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from orchestrator.analysis.comparison.compare import Comparison, compare
from orchestrator.analysis.comparison.sentences import regressions
from orchestrator.analysis.tables.run_tables import RunTables
from tests.orchestrator.analysis.comparison.drawn import run_of, with_cells


def less_accurate(run: RunTables, points: float) -> RunTables:
    return with_cells(run, **{"metrics.val_acc": run.trials["metrics.val_acc"] - points / 100})


def compared(**second: float) -> Comparison:
    return compare(run_of(1, repeats=5), run_of(2, repeats=5, **second))  # type: ignore[arg-type]


def test_a_regression_of_all_is_said_with_its_figure_interval_and_tolerance() -> None:
    assert compared(day=0.85).sentence == (
        "regression in samples_per_s: all 4 configs together (train) are 0.849x as fast as in the "
        "first run (95 % interval 0.838 to 0.859; tolerance 3 %)"
    )


def test_a_regression_of_one_config_names_it_by_the_knobs_that_differ() -> None:
    comparison = compared(factor=0.8)
    assert "regression in samples_per_s: num_workers=6 (train) is 0.8" in comparison.sentence
    assert regressions(comparison.changes, comparison.table, comparison.sweep) == [
        comparison.sentence.removeprefix("regression in ")
    ]


def test_an_improvement_is_said() -> None:
    assert compared(factor=1.3).sentence.startswith(
        "improvement in samples_per_s: num_workers=6 (train) is 1.3"
    )


def test_an_accuracy_that_falls_beyond_its_tolerance_is_a_regression_in_points() -> None:
    second = less_accurate(run_of(2, repeats=5), 2)
    sentence = compare(run_of(1, repeats=5), second).sentence
    assert sentence == (
        "regression in val_acc: all 4 configs together (train): val_acc is 2 points worse than in "
        "the first run (95 % interval 1.97 to 2.03; tolerance 0.5 points), and 4 more"
    )


def test_no_regression_is_not_called_no_change_where_single_configs_are_open() -> None:
    sentence = compared().sentence
    assert sentence.startswith("not decided: no regression beyond 3 % shown; all 4 configs")
    assert "open: " in sentence
    assert "of 8 changes of single configs" in sentence


def test_no_change_is_said_with_its_figure() -> None:
    quiet = compare(run_of(1, noise=1e-4), run_of(2, noise=1e-4), tolerance=0.02)
    assert quiet.sentence.startswith(
        "no change beyond the tolerance of 2 %: all 4 configs together (train) are 1.000x as fast"
    )


def test_an_interval_wider_than_a_factor_of_one_and_a_half_tells_no_ratio() -> None:
    wild = compare(run_of(1, noise=0.6), run_of(2, noise=0.6))
    assert "is not known: its runs differ too much" in wild.sentence
    assert not re.search(r"\dx", wild.sentence)
    slow = compare(run_of(1, noise=0.25), run_of(2, noise=0.25, day=0.2))
    assert re.search(r"are less than 0\.\d\dx as fast as in the first run", slow.sentence)


def test_of_a_loss_worse_is_larger() -> None:
    first, second = (
        replace(
            run,
            trials=run.trials.rename(columns={"metrics.val_acc": "metrics.val_loss"}),
            sweep=replace(
                run.sweep,
                objectives=(
                    run.sweep.objectives[0],
                    replace(run.sweep.objectives[1], metric="val_loss", goal="minimize"),
                ),
            ),
        )
        for run in (run_of(1), less_accurate(run_of(2), -20))
    )
    assert "val_loss is 0.2 worse" in compare(first, second).sentence
    assert "improvement in val_loss" in compare(second, first).sentence


@pytest.mark.parametrize("tolerance", [-0.1, 1.0, float("nan")])
def test_a_tolerance_that_is_no_share_is_refused(tolerance: float) -> None:
    with pytest.raises(Exception, match=r"tolerance: .* is not allowed"):
        compare(run_of(1), run_of(2), tolerance=tolerance)
