"""A benchmark's target decides its exit code."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pandas as pd
import pytest

from benchmarks import first_step, graph_store, orchestration, sweep_times
from benchmarks.fidelity import __main__ as fidelity
from benchmarks.side_by_side import Pairs
from benchmarks.trainables import rgat as trainables_rgat


@pytest.mark.parametrize(
    ("rate", "difference", "code"),
    [(1.3, 1e-4, 0), (1.29, 1e-4, 1), (1.3, 1.1e-4, 1), (1.3, float("nan"), 1)],
)
def test_rgat(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    rate: float,
    difference: float,
    code: int,
) -> None:
    printed = {
        "ours": {"step": rate, "batch": 0.5},
        "dgl": {"step": 1.0, "batch": 1.0},
        "compare": {"scores": 1e-6, "gradients": difference},
    }
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(
        trainables_rgat.Work, "in_fresh_process", lambda work, _allocator: printed[work.kind]
    )
    assert trainables_rgat.main(["--scale", "1e-5"]) == code


@pytest.mark.parametrize("num_timed", [2, 3])
def test_the_median_of_an_even_number_of_steps_lies_between_two(
    monkeypatch: pytest.MonkeyPatch, num_timed: int
) -> None:
    now = [0.0]
    monkeypatch.setattr("time.perf_counter", lambda: now[0])

    def takes(index: int) -> None:
        now[0] += [50.0, 1.0, 3.0, 9.0][index]

    assert trainables_rgat._median_s(takes, 1 + num_timed) == pytest.approx(num_timed)


@pytest.mark.parametrize(("ours", "code"), [(0.07, 0), (0.08, 1)])
def test_orchestration(monkeypatch: pytest.MonkeyPatch, ours: float, code: int) -> None:
    def made(_ours: Callable[[int], float], _peer: Callable[[int], float], *, pairs: int) -> Pairs:
        return Pairs(ours=[ours] * pairs, peer=[1.0] * pairs)

    def runs(command: list[object], **_: object) -> float:
        """One empty trial of Ray Tune takes 1 s; all of ours take a little over the 32."""
        return 1.0 if "benchmarks.peers.empty_tune" in command else 32 * ours + 0.1

    monkeypatch.setattr(orchestration, "in_turn", made)
    monkeypatch.setattr(orchestration, "timed", runs)
    assert orchestration.main([]) == code


@pytest.mark.parametrize(("slowest_s", "code"), [(1.5, 0), (1.51, 1)])
def test_first_step(monkeypatch: pytest.MonkeyPatch, slowest_s: float, code: int) -> None:
    monkeypatch.setattr(
        first_step,
        "_times",
        lambda *_given: iter([("isolated", [0.5, slowest_s]), ("at once", [0.6, 0.7])]),
    )
    assert first_step.main([]) == code


@pytest.mark.parametrize(("ratio", "code"), [(1.15, 0), (1.16, 1)])
def test_graph_store(monkeypatch: pytest.MonkeyPatch, ratio: float, code: int) -> None:
    monkeypatch.setattr(graph_store, "_measured", lambda *_given: ratio)
    assert graph_store.main([]) == code


@pytest.mark.parametrize(
    ("beside", "code"),
    [
        ([101.0, 102.0, 103.0], 0),
        ([96.0, 96.0, 96.0], 1),  # the neighbour takes 4 %
        ([90.0, 100.0, 110.0], 1),  # it takes nothing, but the runs differ by more than 3 %
    ],
)
def test_fidelity(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    beside: list[float],
    code: int,
) -> None:
    def ours(_name: str, _folder: Path, _repeats: int, concurrent: int, _by: str) -> pd.DataFrame:
        rates = [99.0, 100.0, 101.0] if concurrent == 1 else beside
        host = {"metrics.host_speed": 3000.0, "metrics.host_speed_slope": 0.5}
        return pd.DataFrame({"params.batch_size": 256, "metrics.samples_per_s": rates, **host})

    monkeypatch.setattr(fidelity, "_ours", ours)
    monkeypatch.setattr(fidelity, "_theirs", lambda *_given: [80.0, 100.0, 120.0])
    assert fidelity.main(["lenet", "--rounds", "1"]) == code
    assert "inline" not in capsys.readouterr().out
    assert fidelity.main(["lenet", "--rounds", "1", "--inline"]) == code
    assert "inline over Ray: 1.000, at equal host speed 1.000" in capsys.readouterr().out


@pytest.mark.parametrize(("seconds", "code"), [(180.0, 0), (180.1, 1)])
def test_no_sweep_takes_more_than_three_minutes(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    seconds: float,
    code: int,
) -> None:
    def ran(_command: object, *, cwd: Path, env: Mapping[str, str]) -> float:
        assert "SWEEP_DATA" not in env
        (cwd / "run").mkdir()
        rows = pd.DataFrame(
            {
                "state": ["completed", "infeasible"],
                "data": ["digits"] * 2,
                "wall_s": [4.25, float("nan")],
            }
        )
        rows.to_parquet(cwd / "run" / "trials.parquet")
        return seconds

    monkeypatch.setattr(sweep_times, "timed", ran)
    monkeypatch.setattr(sweep_times, "_error_of_predictions", lambda _: "5 % (7 configs)")
    assert sweep_times.main(["mnist_parallel"]) == code
    printed = capsys.readouterr().out.splitlines()[-1]
    row = "| mnist_parallel | 180 | 2 | 1 completed, 1 infeasible | 4.2 | digits |"
    assert printed == f"{row} 5 % (7 configs) |"
