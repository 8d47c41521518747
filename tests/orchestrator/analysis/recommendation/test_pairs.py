from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from orchestrator.analysis.recommendation.pairs import Pairs, confirm_level, pair_up
from tests.orchestrator.analysis.made_runs import Config, MadeRun, config

FAST = config(num_workers=3)
CONTAMINATED = {"tags.contaminated": "30 % of its cores' time went to others"}


def confirmed(*speeds: tuple[Config, list[float]], **cells: object) -> MadeRun:
    """The confirm runs of some configs."""
    run = MadeRun()
    for c, of_config in speeds:
        run.add_runs(c, of_config, stage="confirm", **cells)
    return run


def pairs_of(run: MadeRun) -> Pairs:
    return pair_up(run.tables, FAST, config())


def test_the_interval_is_that_of_the_paired_ratios() -> None:
    ours, theirs = [4100.0, 3900.0, 4400.0], [1000.0, 980.0, 1100.0]
    interval = pairs_of(confirmed((FAST, ours), (config(), theirs))).interval
    logs = np.log(ours) - np.log(theirs)
    low, high = np.exp(stats.t.interval(0.95, 2, loc=logs.mean(), scale=stats.sem(logs)))
    assert interval.centre == pytest.approx(np.exp(logs.mean()))
    assert (interval.low, interval.high) == (pytest.approx(low), pytest.approx(high))
    # A slow minute hits both runs of a pair: their ratio does not see it.
    unpaired = np.exp(stats.t.ppf(0.975, 4) * np.log(ours).std(ddof=1) * np.sqrt(2 / 3))
    assert interval.high / interval.low < unpaired**2


def test_pairs_are_matched_by_repeat_and_broken_ones_left_out() -> None:
    run = confirmed((FAST, [4000.0, 4000.0, 8000.0]), (config(), [1000.0, 1000.0]))
    run.add(config(), stage="confirm", repeat=2, state="failed", reason="killed")
    pairs = pairs_of(run)
    assert (len(pairs), pairs.interval.centre) == (2, pytest.approx(4.0))


def test_without_confirm_runs_there_is_no_pair() -> None:
    run = MadeRun()
    run.add_runs(FAST, [1000.0])
    assert len(pairs_of(run)) == 0
    assert not pairs_of(run).interval.is_known


@pytest.mark.parametrize("whose", [FAST, config()], ids=["ours", "the reference's"])
def test_a_contaminated_round_is_left_out_where_two_are_clean(whose: Config) -> None:
    run = confirmed((FAST, [1300.0, 1310.0, 1290.0]), (config(), [1000.0, 1000.0, 1000.0]))
    row = next(row for row in run.rows if row["params.num_workers"] == whose["num_workers"])
    row |= {**CONTAMINATED, "metrics.samples_per_s": 500.0}
    pairs = pairs_of(run)
    assert pairs.interval.centre == pytest.approx(1.30, rel=0.01)
    assert (len(pairs), pairs.num_left_out, pairs.num_contaminated) == (2, 1, 0)


def test_contaminated_rounds_count_where_too_few_are_clean() -> None:
    run = confirmed((FAST, [1300.0] * 3), (config(), [1000.0] * 3))
    run.rows[0] |= CONTAMINATED
    run.rows[-1] |= CONTAMINATED
    pairs = pairs_of(run)
    assert (len(pairs), pairs.num_left_out, pairs.num_contaminated) == (3, 0, 2)


def test_pairs_are_of_the_kind_of_hardware_that_most_ran_on() -> None:
    run = confirmed((FAST, [1300.0, 1320.0, 1950.0]), (config(), [1000.0] * 3))
    for row in (run.rows[2], run.rows[5]):
        row["device"] = "H200"
    pairs = pairs_of(run)
    assert pairs.interval.centre == pytest.approx(1.31, abs=0.001)
    assert (len(pairs), pairs.num_elsewhere) == (2, 1)


def test_two_runs_of_one_round_on_two_kinds_of_hardware_are_no_pair() -> None:
    run = confirmed((FAST, [2000.0, 2000.0]), (config(), [1000.0, 1000.0]))
    run.rows[1]["device"] = "H200"
    assert len(pairs_of(run)) == 1


def test_rounds_are_interleaved_where_all_their_runs_are() -> None:
    run = confirmed((FAST, [2000.0] * 2), (config(), [1000.0] * 2), **{"tags.interleaved": "true"})
    assert pairs_of(run).interleaved
    run.rows[0]["tags.interleaved"] = "false"
    assert not pairs_of(run).interleaved


def test_the_level_is_shared_out_over_interim_analyses_and_finalists() -> None:
    run = confirmed((FAST, [500.0, 496.0, 505.0]), (config(), [400.0, 404.0, 398.0]))
    fixed = confirm_level(run.tables, 3)
    run.sweep["max_confirm"] = 12
    extended = confirm_level(run.tables, 3)
    run.add_runs(config(num_workers=6), [500.0, 496.0, 505.0], stage="confirm")
    shared = confirm_level(run.tables, 3)
    assert (fixed, extended, shared) == pytest.approx((0.05, 0.01, 0.005))
    logs = np.log([500 / 400, 496 / 404, 505 / 398])
    half = stats.t.ppf(1 - 0.005 / 2, 2) * logs.std(ddof=1) / math.sqrt(3)
    assert pairs_of(run).interval.low == pytest.approx(np.exp(logs.mean() - half))
