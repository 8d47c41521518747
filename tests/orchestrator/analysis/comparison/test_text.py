"""Comparisons in words."""

from __future__ import annotations

import math

import pytest

from orchestrator.analysis.comparison.text import common_text
from orchestrator.analysis.statistics.common_change import CommonChange


def change(
    ratio: float, low: float, high: float, num_configs: int = 4, num_pairs: int = 1
) -> CommonChange:
    return CommonChange(
        stage="train",
        ratio=ratio,
        low=low,
        high=high,
        num_configs=num_configs,
        num_pairs=num_pairs,
    )


@pytest.mark.parametrize(
    ("common", "text"),
    [
        (change(1.2, 1.1, 1.3), "the host on the day as much as what was changed"),
        (change(1.2, 1.1, 1.3, num_pairs=6), "over 6 pairs of runs: a change that all have in"),
        (change(1.0, 0.9, 1.1), "(0.900 to 1.100): no common change is shown"),
        (
            change(1.2, math.nan, math.nan),
            "train: the 4 configs together: the change is not known: too few",
        ),
        (change(1.2, 0.9, 1.6), "the change is not known: the runs differ too much"),
        (change(1.2, 1.1, 1.3, num_configs=1), "train: one config, 1.200x"),
    ],
)
def test_the_common_change_in_a_sentence(common: CommonChange, text: str) -> None:
    assert text in common_text(common)
