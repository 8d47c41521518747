"""Words for what was shown."""

from __future__ import annotations

import math

import pandas as pd
import pytest

from orchestrator.analysis.report.sections.knobs.outcomes import (
    ALIKE,
    OPEN,
    effect_text,
    ends_text,
    legend_of,
    outcome_of,
    word_of,
)
from orchestrator.analysis.rule import Rule
from orchestrator.metrics import maximize, minimize

RULE = Rule(objectives=(maximize("samples_per_s"), maximize("val_acc", tolerance=0.005)))
LEAST = Rule(objectives=(minimize("epoch_s"), minimize("val_loss", tolerance=0.1)))


def row(metric: str, verdict: str, kind: str, low: float, high: float) -> dict[str, object]:
    return {"metric": metric, "verdict": verdict, "kind": kind, "low": low, "high": high}


@pytest.mark.parametrize(
    ("metric", "verdict", "rule", "words"),
    [
        ("samples_per_s", "higher", RULE, "▲ faster"),
        ("samples_per_s", "lower", RULE, "▼ slower"),
        ("epoch_s", "lower", LEAST, "▲ faster"),
        ("val_acc", "lower", RULE, "▼ less accurate"),
        ("val_loss", "lower", LEAST, "▲ better"),
        ("samples_per_s", "equal in every pair", RULE, "= as fast within 2 %"),
        ("peak_rss_gib", "higher", RULE, "▲ better"),
    ],
)
def test_better_is_by_the_goal(metric: str, verdict: str, rule: Rule, words: str) -> None:
    shown = outcome_of(row(metric, verdict, "ratio", 1.1, 1.2), rule)
    assert word_of(shown, metric, rule) == words


@pytest.mark.parametrize(
    ("metric", "kind", "low", "high", "outcome"),
    [
        ("samples_per_s", "ratio", 0.99, 1.015, ALIKE),
        ("samples_per_s", "ratio", 0.97, 1.015, OPEN),
        ("val_acc", "difference", -0.004, 0.005, ALIKE),
        ("val_acc", "difference", -0.006, 0.004, OPEN),
        ("val_acc", "difference", math.nan, math.nan, OPEN),
    ],
)
def test_alike_needs_the_whole_interval_within_the_margin(
    metric: str, kind: str, low: float, high: float, outcome: object
) -> None:
    assert outcome_of(row(metric, "not decided", kind, low, high), RULE) is outcome


@pytest.mark.parametrize(
    ("metric", "kind", "figures", "texts"),
    [
        ("samples_per_s", "ratio", (1.256, 1.1, 1.4), ("1.26x", "1.10 to 1.40")),
        ("val_acc", "difference", (-0.0123, -0.02, 0.002), ("-1.23 points", "-2.00 to +0.20")),
        ("peak_rss_gib", "difference", (0.5, 0.4, 0.6), ("+0.5 GiB", "+0.4 to +0.6")),
        ("samples_per_s", "ratio", (math.nan, math.nan, math.nan), ("not known", "")),
    ],
)
def test_an_effect_has_its_unit_and_its_interval(
    metric: str, kind: str, figures: tuple[float, float, float], texts: tuple[str, str]
) -> None:
    effect, low, high = figures
    known = {**row(metric, "not decided", kind, low, high), "effect": effect}
    assert (effect_text(known), ends_text(known)) == texts


def test_figures_of_a_busy_machine_are_counted() -> None:
    rows = pd.DataFrame({"composed": [False, False], "contaminated": [False, True]})
    assert legend_of(rows.head(1)) == []
    assert legend_of(rows) == ["other load disturbed runs of 1 of these 2"]
