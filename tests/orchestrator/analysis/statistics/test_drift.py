from __future__ import annotations

from datetime import UTC, datetime

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from tests.orchestrator.analysis.made_runs import SPEED, MadeRun, config


def drifting(slope: float, *, num: int = 6, step: float = 0.0, seed: int = 0) -> MadeRun:
    """Runs of the baseline ten minutes apart, ``slope`` of log speed an hour; confirm is faster."""
    run, rng = MadeRun(), np.random.default_rng(seed)
    for index in range(num + 3):
        stage = "train" if index < num else "confirm"
        log = slope * index / 6 + 0.002 * rng.standard_normal() + step * (stage == "confirm")
        began = datetime.fromtimestamp(1_790_000_000 + 600 * index, UTC)
        cells = {SPEED: 1000 * np.exp(log), "metrics.val_acc": 0.9, "started_at": began}
        run.add(config(), stage=stage, repeat=index, **cells)
    return run


def test_a_machine_that_becomes_slower_is_flagged() -> None:
    run = drifting(-0.06)
    drift = run.tables.drift
    assert drift is not None
    assert drift.is_significant
    assert drift.low < drift.change < drift.high < 0
    assert drift.per_hour == pytest.approx(-0.06, abs=0.01)
    assert drift.text.startswith("the machine became slower by ")
    assert drift.to_json()["is_significant"]


def test_the_slope_and_its_p_value_are_those_of_a_least_squares_line() -> None:
    run = drifting(-0.02)
    run.rows = run.rows[:6]
    drift = run.tables.drift
    assert drift is not None
    line = stats.linregress(np.arange(6) / 6, np.log([row[SPEED] for row in run.rows]))
    assert drift.per_hour == pytest.approx(np.expm1(line.slope))
    assert drift.p_value == pytest.approx(line.pvalue)


def test_a_step_between_stages_is_no_drift() -> None:
    for seed in range(5):
        drift = drifting(0.0, step=0.2, seed=seed).tables.drift
        assert drift is not None
        assert abs(drift.per_hour) < 0.02


def test_the_runs_of_an_interleaved_round_are_one_point() -> None:
    run = MadeRun()
    changes = (0.0, -0.03, -0.01, -0.05)
    for repeat, change in enumerate(changes):
        for place, workers in enumerate((0, 3, 6, 8)):
            at = pd.Timestamp(1_790_000_000 + 600 * repeat + place, unit="s", tz="UTC")
            cells = {SPEED: 1000 * np.exp(change), "started_at": at, "tags.interleaved": "true"}
            run.add(config(num_workers=workers), stage="confirm", repeat=repeat, **cells)
    run.add(config(num_workers=3))
    drift = run.tables.drift
    assert drift is not None
    line = stats.linregress(range(4), changes)
    assert drift.p_value == pytest.approx(line.pvalue)
    assert drift.num_runs == 16


def test_no_drift_is_shown_by_noise_alone() -> None:
    drift = drifting(0.0).tables.drift
    assert drift is not None
    assert not drift.is_significant
    assert drift.text.startswith("no drift is shown")
