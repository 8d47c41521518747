"""Fresh runs of one config, interleaved: what is asked for, and what is made of it."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from benchmarks.fidelity import __main__ as fidelity
from benchmarks.fidelity.interleaved import OTHERS, InterleavedRuns
from orchestrator.search.base import Proposal
from orchestrator.space.domains import choice
from tests.orchestrator.search.playing import Config, problem, smooth, trial_of


def test_all_runs_are_asked_for_in_one_interleaved_round() -> None:
    search = InterleavedRuns(runs=6).start(problem(space=Config(workers=choice(0, 3))))
    out = []
    while isinstance(asked := search.ask(), Proposal):
        out.append(trial_of(asked))
    assert [trial.config["workers"] for trial in out].count(0) == 6
    assert [trial.config["workers"] for trial in out].count(3) == OTHERS
    assert len({trial.id for trial in out}) == len(out)
    assert all(trial.interleaved and trial.isolated for trial in out)
    for trial in out:
        search.tell(trial, smooth(trial))
    assert search.ask() is None


@pytest.mark.parametrize(("last", "code"), [(104.0, 0), (112.0, 1)])
def test_the_interleaved_runs_decide_the_exit_code_where_they_are_asked_for(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    last: float,
    code: int,
) -> None:
    def ours(*_given: object) -> pd.DataFrame:
        host = {"metrics.host_speed": 3000.0, "metrics.host_speed_slope": 0.5}
        host["params.batch_size"] = 256
        return pd.DataFrame({"metrics.samples_per_s": [80.0, 100.0, 120.0], **host})

    def interleaved(*_given: object) -> fidelity.Rates:
        return fidelity.Rates(isolated=[[100.0, 101.0, 102.0, last]])

    monkeypatch.setattr(fidelity, "_ours", ours)
    monkeypatch.setattr(fidelity, "_theirs", lambda *_given: [80.0, 100.0, 120.0])
    monkeypatch.setattr(fidelity, "_interleaved", interleaved)
    assert fidelity.main(["lenet", "--rounds", "1", "--interleaved"]) == code
    assert "| lenet | ours, interleaved | 4 |" in capsys.readouterr().out


def test_the_interleaved_runs_of_a_sweep_are_a_round(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    sweeps = iter([[100.0, 101.0], [200.0, 202.0]])

    def looked_at(name: str, folder: Path, options: list[str]) -> pd.DataFrame:
        assert name == "lenet_interleaved"
        assert options == ["--trials", "2"]
        return pd.DataFrame({"metrics.samples_per_s": next(sweeps), "tags.interleaved": "true"})

    monkeypatch.setattr(fidelity, "_looked_at", looked_at)
    rates = fidelity._interleaved("lenet", tmp_path, rounds=2, runs=2)
    assert rates.isolated == [[100.0, 101.0], [200.0, 202.0]]


def test_runs_are_alike_where_spread_and_effect_are_within_three_percent() -> None:
    def rates(*beside: float) -> fidelity.Rates:
        return fidelity.Rates(isolated=[[1000.0], [1010.0], [990.0]], beside=[[b] for b in beside])

    assert rates(1000.0, 1010.0, 990.0).are_alike
    assert not rates(960.0, 970.0, 950.0).are_alike, "the neighbour takes 4 %"
    assert not rates(1000.0, 1100.0, 900.0).are_alike, "they spread by 6 %"
    row = rates(980.0, 989.8, 970.2).row("lenet", "ours")
    assert row == "| lenet | ours | 6 | 1.0% | 1.4% | -2.0% (-2.0% to -2.0%) |"
