"""Fresh runs of one config in turns: what is asked for, and what is made of it."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from benchmarks.fidelity import __main__ as fidelity
from benchmarks.fidelity.interleaved import OTHERS, InTurns
from orchestrator.search.base import Proposal
from orchestrator.space.domains import choice
from tests.orchestrator.search.playing import Config, problem, smooth, trial_of


def test_half_of_the_runs_are_alone_and_all_are_asked_for_at_once() -> None:
    search = InTurns(pairs=3).start(problem(space=Config(workers=choice(0, 3))))
    out = []
    while isinstance(asked := search.ask(), Proposal):
        out.append(trial_of(asked))
    *runs, neighbour = out
    looked_at = [trial for trial in runs if trial.config["workers"] == 0]
    assert [trial.isolated for trial in looked_at].count(True) == 3
    assert [trial.isolated for trial in looked_at].count(False) == 3
    assert len(runs) - len(looked_at) == 2 * OTHERS
    assert len({trial.id for trial in out}) == len(out)
    assert all(trial.interleaved and not trial.companion for trial in runs)
    assert neighbour.companion
    assert neighbour.config["workers"] == 3
    for trial in out:
        search.tell(trial, smooth(trial))
    assert search.ask() is None


@pytest.mark.parametrize(("trials", "pairs"), [(20, 10), (1, 1), (5, 2)])
def test_a_limit_of_trials_is_shared_out_over_both_ways(trials: int, pairs: int) -> None:
    assert InTurns().with_trials(trials).pairs == pairs


@pytest.mark.parametrize(("neighbour", "code"), [(0.98, 0), (0.96, 1)])
def test_in_turns_decides_how_it_ends_where_it_is_asked_for(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    neighbour: float,
    code: int,
) -> None:
    def ours(*_given: object) -> pd.DataFrame:
        host = {"metrics.host_speed": 3000.0, "metrics.host_speed_slope": 0.5}
        host["params.batch_size"] = 256
        return pd.DataFrame({"metrics.samples_per_s": [80.0, 100.0, 120.0], **host})

    def interleaved(*_given: object) -> fidelity.Rates:
        return fidelity.Rates(
            isolated=[[100.0], [101.0]], beside=[[100 * neighbour], [101 * neighbour]]
        )

    monkeypatch.setattr(fidelity, "_ours", ours)
    monkeypatch.setattr(fidelity, "_theirs", lambda *_given: [80.0, 100.0, 120.0])
    monkeypatch.setattr(fidelity, "_interleaved", interleaved)
    assert fidelity.main(["lenet", "--rounds", "1", "--in-turns"]) == code
    assert "| lenet | ours, in turns | 4 |" in capsys.readouterr().out


def test_runs_of_one_seed_in_a_sweep_are_a_pair(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    sweeps = iter([[100.0, 90.0, 101.0, 91.0], [200.0, 180.0, 202.0, 182.0]])

    def looked_at(name: str, folder: Path, options: list[str]) -> pd.DataFrame:
        assert name == "lenet_interleaved"
        assert options == ["--trials", "4"]
        trials = {
            "repeat": [1, 1, 0, 0],
            "isolation": ["exclusive", "leased"] * 2,
            "metrics.samples_per_s": next(sweeps),
            "tags.interleaved": "true",
        }
        return pd.DataFrame(trials)

    monkeypatch.setattr(fidelity, "_looked_at", looked_at)
    rates = fidelity._interleaved("lenet", tmp_path, rounds=2, pairs=2)
    assert rates.isolated == [[101.0], [100.0], [202.0], [200.0]]
    assert rates.beside == [[91.0], [90.0], [182.0], [180.0]]
    assert rates.effect == pytest.approx(-0.1, abs=0.01)


def test_runs_are_alike_where_spread_and_effect_are_within_three_percent() -> None:
    def rates(*beside: float) -> fidelity.Rates:
        return fidelity.Rates(isolated=[[1000.0], [1010.0], [990.0]], beside=[[b] for b in beside])

    assert rates(1000.0, 1010.0, 990.0).are_alike
    assert not rates(960.0, 970.0, 950.0).are_alike, "the neighbour takes 4 %"
    assert not rates(1000.0, 1100.0, 900.0).are_alike, "they spread by 6 %"
    row = rates(980.0, 989.8, 970.2).row("lenet", "ours, in turns")
    assert row == "| lenet | ours, in turns | 6 | 1.0% | 1.4% | -2.0% (-2.0% to -2.0%) |"
