"""The verdict on two runs in a sentence."""

from __future__ import annotations

import re

import pytest

from orchestrator.analysis.comparison.compare import Comparison, compare
from orchestrator.analysis.comparison.words import lost_text, regressions
from orchestrator.analysis.tables.run_tables import RunTables
from tests.orchestrator.analysis.comparison.drawn import run_of, with_cells


def less_accurate(run: RunTables, points: float) -> RunTables:
    return with_cells(run, **{"metrics.val_acc": run.trials["metrics.val_acc"] - points / 100})


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
def test_the_verdict_is_said_with_its_figure(second: dict[str, float], sentence: str) -> None:
    assert re.match(sentence, compared(**second).sentence)


def test_each_regression_has_a_sentence() -> None:
    comparison = compared(factor=0.8)
    assert regressions(comparison.changes, comparison.table, comparison.sweep) == [
        comparison.sentence.removeprefix("regression in ")
    ]


def test_an_accuracy_that_falls_beyond_its_tolerance_is_a_regression_in_points() -> None:
    second = less_accurate(run_of(2, repeats=5), 2)
    assert compare(run_of(1, repeats=5), second).sentence == (
        "regression in val_acc: all 4 configs together (train): val_acc is 2 points worse than in "
        "the first run (95 % interval -2.03 to -1.97; tolerance 0.5 points), and 4 more"
    )


def test_an_interval_wider_than_a_factor_of_one_and_a_half_tells_no_ratio() -> None:
    wild = compare(run_of(1, noise=0.6), run_of(2, noise=0.6))
    assert "is not known: its runs differ too much" in wild.sentence
    assert not re.search(r"\dx", wild.sentence)
    slow = compare(run_of(1, noise=0.25), run_of(2, noise=0.25, day=0.2))
    assert re.search(r"are less than 0\.\d\dx as fast as in the first run", slow.sentence)


def test_of_many_lost_configs_the_first_few_are_named() -> None:
    assert lost_text(["a", "b", "c", "d", "e"]).endswith("second: a; b; c and 2 more")
