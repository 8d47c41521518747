"""``an.compare``."""

from __future__ import annotations

import pytest

import orchestrator.analysis as an
from tests.orchestrator.analysis.comparison.drawn import run_of


def test_the_verdict_is_given_with_its_changes_and_figures() -> None:
    first, second = run_of(1, repeats=5), run_of(2, repeats=5, day=0.85)
    comparison = an.compare(first, second, tolerance=0.03)
    assert comparison.verdict == "regression"
    assert comparison.sentence.startswith("regression in samples_per_s: all 4 configs together")
    assert {"params.num_workers", "ratio", "low", "high"} <= set(comparison.table.columns)
    assert {"stage", "metric", "change", "verdict"} <= set(comparison.changes.columns)
    assert an.compare(first, second, tolerance=0.3).verdict == "no change beyond the tolerance"


def test_anything_but_two_runs_is_refused() -> None:
    with pytest.raises(an.TableError, match="compare: takes two runs, not a DataFrame"):
        an.compare(run_of(1), run_of(1).trials)  # type: ignore[arg-type]
    with pytest.raises(an.TableError, match="not a str"):
        an.compare("runs/a", run_of(1))  # type: ignore[arg-type]
