from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from orchestrator.analysis.recommendation.front import front_table
from orchestrator.analysis.recommendation.selection import select
from orchestrator.analysis.statistics.by_config import by_config
from orchestrator.analysis.statistics.pooling import OVER_POOL, OVER_RUNS, pools_by_stage
from orchestrator.trial import Stage
from tests.orchestrator.analysis.made_runs import SPEED, MadeRun, config

WORKERS = [config(num_workers=n) for n in (0, 3, 6, 8)]


def test_the_pool_is_the_error_of_a_one_way_analysis_of_variance() -> None:
    run, rng = MadeRun(), np.random.default_rng(0)
    speeds = [
        1000 * (i + 1) * np.exp(0.03 * rng.standard_normal(n)) for i, n in enumerate((3, 2, 4))
    ]
    for c, of_config in zip(WORKERS, speeds, strict=False):
        run.add_runs(c, list(of_config))
    run.add_runs(WORKERS[3], [5000.0])
    pools = pools_by_stage(run.trials, stages=[Stage.TRAIN], speed="samples_per_s")
    pool, apart = pools[Stage.TRAIN]["all"]
    squares = sum(((np.log(s) - np.log(s).mean()) ** 2).sum() for s in speeds)
    assert (pool.variance, pool.df) == (pytest.approx(squares / 6), 6)
    assert not apart.any()

    rows = by_config(run.trials)
    half = stats.t.ppf(0.975, 6) * np.sqrt(squares / 6 / np.array([3, 2, 4, 1]))
    assert np.log(rows[f"{SPEED}_high"] / rows[SPEED]).tolist() == pytest.approx(half.tolist())
    assert set(rows["interval"]) == {OVER_POOL}
    assert rows[SPEED].tolist() == pytest.approx([*map(stats.gmean, speeds), 5000.0])


def test_a_run_that_varies_more_within_itself_than_the_pool_gets_the_difference_on_top() -> None:
    run = MadeRun()
    run.add_runs(WORKERS[0], [1000.0, 1030.0, 970.0], within=0.005)
    run.add_runs(WORKERS[1], [2000.0], within=0.005)
    run.add_runs(WORKERS[2], [3000.0], within=0.04)
    rows = by_config(run.trials).set_index("params.num_workers")
    assert rows["variance"][3] == pytest.approx(rows["variance"][0] * 3)
    assert rows["variance"][6] - rows["variance"][3] == pytest.approx(0.04**2 - 0.005**2)


def test_runs_that_happen_to_agree_are_no_surer_than_their_blocks() -> None:
    run = MadeRun()
    run.add_runs(WORKERS[0], [1000.0, 1000.0], within=0.01)
    row = by_config(run.trials).iloc[0]
    assert row["variance"] == pytest.approx(0.01**2 / 2)


def test_a_config_far_noisier_than_the_others_keeps_its_own_spread() -> None:
    run, rng = MadeRun(), np.random.default_rng(1)
    for c in WORKERS[:3]:
        run.add_runs(c, list(1000 * np.exp(0.01 * rng.standard_normal(5))))
    run.add_runs(WORKERS[3], [1000.0, 1400.0, 800.0])
    rows = by_config(run.trials).set_index("params.num_workers")
    own = np.log([1000.0, 1400.0, 800.0]).var(ddof=1)
    assert (rows["variance"][8], rows["df"][8]) == (pytest.approx(own / 3), 2)
    assert rows["interval"][8] == OVER_RUNS
    assert rows["df"][0] == 12
    assert rows["variance"][0] < 0.02**2 / 5


def once(*, confirm: bool) -> MadeRun:
    """Four configs run once, and where asked three confirm runs of two of them."""
    run = MadeRun()
    for c, speed in zip(WORKERS, (1000.0, 1985.0, 1990.0, 2000.0), strict=True):
        run.add_runs(c, [speed])
    if confirm:
        run.add_runs(WORKERS[0], [1000.0, 1010.0, 990.0], stage="confirm")
        run.add_runs(WORKERS[1], [1980.0, 2000.0, 2020.0], stage="confirm")
    return run


def test_confirm_runs_tell_the_spread_of_configs_that_were_run_once_and_this_is_said() -> None:
    run = once(confirm=True)
    rows = by_config(run.trials)
    assert set(rows["df"]) == {4}
    assert set(rows["interval"]) == {f"{OVER_POOL} (confirm runs included)"}
    low, high = (front_table(run.tables)[f"{SPEED}_{end}"][0] for end in ("low", "high"))
    assert np.log(high / low) / 2 == pytest.approx(stats.t.ppf(0.975, 4) * 0.01, rel=0.01)


def test_the_noise_of_confirm_runs_does_not_change_the_selection() -> None:
    before, after = once(confirm=False), once(confirm=True)
    chosen = select(before.tables)
    assert chosen.config == select(after.tables).config == WORKERS[1]
    assert chosen.row is not None
    assert len(chosen.row["trial_ids"]) == 1
