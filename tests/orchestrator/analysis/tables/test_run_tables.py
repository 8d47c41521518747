import math

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from orchestrator.analysis.comparable import ALL, GROUP
from orchestrator.analysis.tables.run_tables import OVER, run_intervals
from tests.orchestrator.analysis.made_runs import SPEED


def table(speeds: dict[str, list[float]], *, within: float = 0.001) -> pd.DataFrame:
    """Runs of configs by name, their intervals within a run as narrow as asked for."""
    rows = [
        {
            "trial_id": f"{config}-{run}", "stage": "train", "state": "completed",
            "params.config": config, SPEED: speed, GROUP: ALL,
            f"{SPEED}_within_low": speed * (1 - 1.96 * within),
            f"{SPEED}_within_high": speed * (1 + 1.96 * within),
        }
        for config, runs in speeds.items()
        for run, speed in enumerate(runs)
    ]  # fmt: skip
    return pd.DataFrame(rows)


def with_intervals(rows: pd.DataFrame) -> pd.DataFrame:
    return rows.assign(**run_intervals(rows))


def test_a_row_s_interval_covers_what_fresh_runs_differ_by() -> None:
    trials = with_intervals(table({"a": [100, 104], "b": [200, 206], "c": [50]}))
    logs = [math.log(104 / 100), math.log(206 / 200)]
    spread = math.sqrt(sum(log**2 / 2 for log in logs) / 2)
    half = stats.t.ppf(0.975, 2) * spread
    assert np.log(trials[f"{SPEED}_high"] / trials[SPEED]).tolist() == pytest.approx([half] * 5)
    assert np.log(trials[SPEED] / trials[f"{SPEED}_low"]).tolist() == pytest.approx([half] * 5)
    assert set(trials[OVER]) == {"between runs, spread pooled over configs"}, "also of c, run once"


def test_the_speed_of_a_config_lies_in_95_of_100_intervals_of_its_runs() -> None:
    rng = np.random.default_rng(0)
    sweeps = [
        table({name: (1000 * np.exp(rng.normal(0, 0.03, 4))).tolist() for name in "abcde"})
        for _ in range(40)
    ]
    # Each sweep is a separate group, with a separate pool.
    groups = [sweep.assign(**{GROUP: str(number)}) for number, sweep in enumerate(sweeps)]
    trials = with_intervals(pd.concat(groups, ignore_index=True))
    covered = (trials[f"{SPEED}_low"] <= 1000) & (trials[f"{SPEED}_high"] >= 1000)
    assert 0.93 <= covered.mean() <= 0.97


def test_without_repeats_it_is_the_run_s_own_with_a_note() -> None:
    trials = with_intervals(table({"a": [100], "b": [200]}))
    assert trials[f"{SPEED}_low"].tolist() == trials[f"{SPEED}_within_low"].tolist()
    assert set(trials[OVER]) == {"one run; between-run noise not known"}
