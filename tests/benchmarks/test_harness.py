"""A benchmark's target decides its exit code."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import orchestration, planning
from benchmarks.harness import Comparison, Pairs, in_fresh_process, in_turn, printed
from benchmarks.planning import GRID, PROMISED_S


def comparison(ratio: float, **limits: float) -> Comparison:
    """A comparison of two rounds with this ratio."""
    return Comparison(
        what="a step", unit="s", pairs=Pairs(ours=[ratio, 2 * ratio], peer=[1.0, 2.0]), **limits
    )


def test_the_two_sides_take_turns() -> None:
    order: list[str] = []

    def side(name: str, figure: float) -> float:
        order.append(name)
        return figure

    pairs = in_turn(lambda n: side("ours", n + 1), lambda _: side("peer", 2.0), pairs=3)
    assert order == ["ours", "peer"] * 3
    assert pairs.ratios == [0.5, 1.0, 1.5]
    assert pairs.row("a step", "s") == "| a step | 2 s | 2 s | 1.000 | 0.500 to 1.500 | 3 |"


@pytest.mark.parametrize(
    ("ratio", "limits", "code"),
    [
        (1.3, {"at_least": 1.3}, 0),
        (1.29, {"at_least": 1.3}, 1),
        (0.07, {"at_most": 0.07}, 0),
        (0.08, {"at_most": 0.07}, 1),
        (9.0, {}, 0),
    ],
)
def test_a_missed_ratio_is_the_exit_code(
    ratio: float, limits: dict[str, float], code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    assert printed([comparison(1.0), comparison(ratio, **limits)], "torch") == code
    output = capsys.readouterr().out
    assert "- versions: Python 3" in output
    assert all(f"to reach: {limit:g}" in output for limit in limits.values())


def test_a_function_runs_in_a_process_of_its_own() -> None:
    assert in_fresh_process(_sum_and_main, 2, 3) == [5, "__main__"]
    with pytest.raises(RuntimeError, match="unsupported operand"):
        in_fresh_process(_sum_and_main, 2, "x")


def _sum_and_main(a: int, b: int) -> tuple[int, str]:
    import sys

    return a + b, sys.modules["__main__"].__name__


@pytest.mark.parametrize(("slowest_s", "code"), [(PROMISED_S, 0), (PROMISED_S + 0.1, 1)])
def test_the_slowest_plan_keeps_the_promise(
    monkeypatch: pytest.MonkeyPatch, slowest_s: float, code: int
) -> None:
    times = iter([0.5, 1.0, slowest_s, 1.0])
    monkeypatch.setattr(planning, "in_fresh_process", lambda _: next(times))
    assert planning.main(["--pairs", "2"]) == code


def test_ray_tune_expands_the_grid_that_is_planned() -> None:
    sizes = [len(values) for values in GRID.values()]
    assert sizes == [10, 5, 2, 10, 10, 2, 5]


@pytest.mark.parametrize(("ours_s", "code"), [(0.07, 0), (0.08, 1)])
def test_orchestration(monkeypatch: pytest.MonkeyPatch, ours_s: float, code: int) -> None:
    def of_ours(_folder: Path, num_trials: int) -> float:
        return 32 * ours_s + 0.001 * (num_trials - 32)

    monkeypatch.setattr(orchestration, "ours", of_ours)
    monkeypatch.setattr(orchestration, "peer", lambda _folder, num_trials: float(num_trials))
    assert orchestration.main([]) == code
