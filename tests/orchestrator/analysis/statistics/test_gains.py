"""Gains of configs whose loader, or model, were free, with their interval over fresh runs."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd
import pytest

from orchestrator.analysis.statistics.by_config import by_config
from orchestrator.analysis.statistics.gains import COMPUTE, LOADER, SPEED, Gain, gains_of
from tests.orchestrator.analysis.made_runs import MadeRun, config

TRUTH = 4.1


def run_of(*repeats: int) -> pd.DataFrame:
    """Configs with so many runs each, their model 4.1 times as fast as they are."""
    run = MadeRun()
    for workers, number in enumerate(repeats):
        for repeat in range(number):
            run.add(config(num_workers=workers), repeat=repeat)
    return next(draws(run.trials, num_draws=1))


def draws(trials: pd.DataFrame, num_draws: int) -> Iterator[pd.DataFrame]:
    """The table with drawn speeds: hosts differ by 20 %, their own ratio by 2 %."""
    rng = np.random.default_rng(0)
    for _ in range(num_draws):
        speeds = 5000 * np.exp(0.2 * rng.standard_normal(len(trials)))
        ratios = TRUTH * np.exp(0.02 * rng.standard_normal(len(trials)))
        cells = {SPEED: speeds, COMPUTE: speeds * ratios, LOADER: speeds * 1.001}
        yield trials.assign(**cells)


def gain_of_first(trials: pd.DataFrame) -> Gain:
    return gains_of(trials, by_config(trials))[0]


def test_the_interval_is_of_ratios_within_runs_and_holds_the_truth_19_times_of_20() -> None:
    trials = run_of(*[3] * 12)
    configs = by_config(trials)
    gains = [gain for table in draws(trials, num_draws=10) for gain in gains_of(table, configs)]
    assert 106 <= sum(gain.low <= TRUTH <= gain.high for gain in gains) <= 119  # of 120
    widths = [gain.high / gain.low for gain in gains]
    assert float(np.median(widths)) < 1.10, "the hosts' 20 % are on both sides of a ratio"


def test_a_config_with_one_run_has_the_spread_of_those_with_more() -> None:
    trials = run_of(1, 4)
    gain = gain_of_first(trials)
    assert gain.low < gain.ratio < gain.high
    assert gain.ratio == pytest.approx(float((trials[COMPUTE] / trials[SPEED]).iloc[0]))


@pytest.mark.parametrize(("times", "part"), [(3.0, "the loader"), (5.0, "the model")])
def test_the_larger_of_two_gains_is_given(times: float, part: str) -> None:
    trials = run_of(2, 2)
    gain = gain_of_first(trials.assign(**{LOADER: times * trials[SPEED]}))
    assert gain.part == part
