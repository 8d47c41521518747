"""Trials, reports and results."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from orchestrator.trial import Report, trial_id


def test_an_id_depends_on_the_content_and_not_on_its_order() -> None:
    assert trial_id({"a": 1, "b": 2}) == trial_id({"b": 2, "a": 1})
    assert trial_id({"a": 1, "b": 2}) != trial_id({"a": 1, "b": 3})


@pytest.mark.parametrize("samples", [10**30, 8.5, float("nan"), float("inf"), "x", None, [8]])
def test_a_report_counts_what_the_journal_can_hold(samples: Any) -> None:  # noqa: ANN401 - of many types
    with pytest.raises(ValueError, match=r"samples = .* is not allowed: a whole number of 64 bits"):
        Report(step=1, epoch=1, samples=samples, elapsed_s=1.0, metrics={})


def test_a_report_counts_in_plain_numbers() -> None:
    report = Report(step=np.int64(1), epoch=1, samples=8.0, elapsed_s=1.0, metrics={})  # type: ignore[arg-type]
    assert [type(count) for count in (report.step, report.samples)] == [int, int]
