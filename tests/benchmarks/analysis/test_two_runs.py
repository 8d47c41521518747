"""The simulation of verdicts on two runs is that of the program's own rules."""

from __future__ import annotations

import pytest

from benchmarks.analysis import two_runs
from orchestrator.analysis.comparison.changes import Verdict


def test_a_planted_change_is_found_and_none_where_there_is_none() -> None:
    found = two_runs.rates((0.8, 0.8), runs=5, spread=0.01, num=5, seed=0)
    assert found[Verdict.REGRESSION] == 1
    gained = two_runs.rates((1.0, 1.3), runs=5, spread=0.01, num=5, seed=0)
    assert gained[Verdict.IMPROVEMENT] == 1
    same = two_runs.rates((1.0, 1.0), runs=5, spread=0.001, num=5, seed=0)
    assert same[Verdict.REGRESSION] == 0
    assert sum(same.values()) == 1


def test_a_broken_promise_exits_with_1(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(two_runs, "NUM_CONFIGS", (2,))
    monkeypatch.setattr(two_runs, "RUNS", (3,))
    monkeypatch.setattr(two_runs, "SPREADS", (0.02,))
    monkeypatch.setattr(two_runs, "PLANTED", 0.99)
    assert two_runs.main(["--comparisons", "3"]) == 1
    output = capsys.readouterr().out
    assert "| 2 | 3 | 2 % | " in output
    assert "not kept" in output
