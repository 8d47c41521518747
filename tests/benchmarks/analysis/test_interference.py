"""The size of the effect that the interference check finds."""

from __future__ import annotations

import pytest

from benchmarks.analysis import interference
from benchmarks.analysis.interference import POWER, STEP, share_shown, smallest_shown


def test_the_smallest_effect_is_the_first_that_is_shown_often_enough() -> None:
    loss = smallest_shown(0.03, 2)
    assert loss == pytest.approx(0.06), "as the docstring of the check has it"
    assert share_shown(loss, 0.03, 2) >= POWER > share_shown(loss - STEP, 0.03, 2)


def test_without_an_effect_one_is_shown_in_no_more_than_five_of_a_hundred_checks() -> None:
    assert share_shown(0.0, 0.03, 2) <= 0.06


def test_more_configs_show_a_smaller_effect() -> None:
    assert smallest_shown(0.03, 8) < smallest_shown(0.03, 2)


def test_the_table_has_a_row_for_each_noise(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(interference, "NOISES", (0.01,))
    monkeypatch.setattr(interference, "NUM_CHECKS", 100)
    interference.main([])
    *_, row = capsys.readouterr().out.splitlines()
    assert row.startswith("| 1.0% | 2 | ")
