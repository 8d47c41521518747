"""Rounds of two configs, interleaved and one after another, and the table of them."""

from __future__ import annotations

import math

import pandas as pd
import pytest

from benchmarks.confirming import __main__ as confirming
from benchmarks.confirming.both_ways import BothWays
from orchestrator.search.base import Proposal
from orchestrator.space.domains import choice
from tests.orchestrator.search.playing import Config, problem, smooth, trial_of


def test_interleaved_rounds_alternate_with_others() -> None:
    search = BothWays(rounds=2).start(problem(space=Config(workers=choice(0, 3))))
    together = []
    while (asked := search.ask()) is not None:
        out = []
        while isinstance(asked, Proposal):
            out.append(trial_of(asked))
            asked = search.ask()
        together.append([(trial.repeat, trial.interleaved) for trial in out])
        assert all(trial.isolated for trial in out)
        for trial in out:
            search.tell(trial, smooth(trial))
    interleaved, by_itself = (lambda n: [(n, True)] * 2), (lambda n: [[(n, False)]] * 2)
    assert together == [interleaved(0), *by_itself(1), interleaved(2), *by_itself(3)]


@pytest.mark.parametrize(("trials", "rounds"), [(4, 1), (1, 1), (40, 10)])
def test_a_limit_of_trials_is_shared_out_over_rounds(trials: int, rounds: int) -> None:
    assert BothWays().with_trials(trials).rounds == rounds


def test_a_row_tells_the_spread_and_the_interval() -> None:
    rounds = pd.DataFrame(
        {"log_ratio": [math.log(ratio) for ratio in (0.98, 1.0, 1.0 / 0.98)], "seconds": 12.0}
    )
    row = confirming._row("lenet", "interleaved", rounds)
    assert row == "| lenet | interleaved | 3 | 2.0% | 1.000 (0.951 to 1.051) | ±5.1% | 12 s |"
