"""Figures to a target in the tables, by the best of all curves."""

from __future__ import annotations

import math

import pandas as pd
import pytest

from orchestrator.analysis.rule import GOODPUT, TIME, Rule, with_derived
from orchestrator.metrics import Objective, at_least, maximize, minimize

NEAR = maximize("val_acc", tolerance=0.01)
BASELINE = {"lr": 0.1}


def derived(target: Objective | None, *, stage: str = "train") -> pd.DataFrame:
    """Three trials: the baseline, a quicker one, and one that never gets there."""
    trials = pd.DataFrame(
        {
            "trial_id": ["base", "quick", "never"],
            "stage": ["train", stage, "train"],
            "params.lr": [0.1, 0.2, 0.3],
            "metrics.samples_per_s": [100.0, 100.0, 100.0],
        }
    )
    rows = [("base", 1, 0.5), ("base", 2, 0.8), ("base", 3, 0.9), ("quick", 1, 0.85),
            ("quick", 2, 0.95), ("never", 1, 0.1)]  # fmt: skip
    curves = pd.DataFrame(rows, columns=["trial_id", "epoch", "metrics.val_acc"])
    curves = curves.assign(
        samples=1000 * curves["epoch"],
        elapsed_s=10.0 * curves["epoch"],
        **{"metrics.train_s": 2.0 * curves["epoch"]},
    )
    rule = Rule(objectives=(minimize("time_to_accuracy_s"),), target=target)
    return with_derived(trials, curves, rule, BASELINE).set_index("trial_id")


def test_a_given_target() -> None:
    table = derived(at_least("val_acc", 0.8))
    assert table[TIME].tolist()[:2] == [4.0, 2.0]
    assert math.isnan(table[TIME]["never"])
    # The baseline is the reference: half its samples at the same rate.
    assert table[GOODPUT].tolist()[:2] == [100.0, 200.0]


def test_a_target_near_the_best_of_all_curves() -> None:
    table = derived(NEAR)
    assert table[TIME]["quick"] == 4.0
    assert math.isnan(table[TIME]["base"])
    assert table[GOODPUT]["quick"] == 100.0  # the baseline never got there


def test_confirm_runs_have_figures_and_set_no_target() -> None:
    table = derived(NEAR, stage="confirm")
    assert table[TIME].to_dict() == pytest.approx(
        {"base": 6.0, "quick": 4.0, "never": math.nan}, nan_ok=True
    )


def test_without_a_target_nothing_is_made() -> None:
    assert TIME not in derived(None).columns
