from __future__ import annotations

import numpy as np
import pytest

from analysis.front import searched_configs
from analysis.recommend import recommend
from benchmarks import comparisons
from benchmarks.comparisons import (
    AA_CV,
    DEFAULT_REPEATS,
    Floats,
    Noise,
    called_worse,
    claimed,
    drawn,
    measured_cv,
    pairs_in_blocks,
    planted,
)
from tests.analysis.made_runs import MadeRun, config

SPEED = "metrics.samples_per_s"


@pytest.fixture(scope="module")
def same() -> Floats:
    return pairs_in_blocks(Noise(cv=AA_CV), num=100, seed=0)


def test_a_config_is_called_different_from_itself_in_at_most_five_of_a_hundred_cases(
    same: Floats,
) -> None:
    assert measured_cv(same) == pytest.approx(AA_CV, rel=0.1)
    assert claimed(same, DEFAULT_REPEATS).sum() <= 5
    many = drawn(AA_CV, num=5000, configs=2, seed=0)
    assert all(claimed(many, repeats).mean() <= 0.05 for repeats in (3, 8))


def test_of_many_equal_configs_few_are_called_worse() -> None:
    worse = called_worse(drawn(AA_CV, num=100, configs=8, seed=0), DEFAULT_REPEATS)
    assert worse.sum() <= 0.05 * 700


def test_the_default_repeats_find_what_was_planted_where_runs_differ_by_1_percent() -> None:
    found = claimed(planted(drawn(0.01, num=5000, configs=2, seed=0)), DEFAULT_REPEATS)
    assert found.mean() >= 0.8


@pytest.mark.parametrize(("cv", "pairs"), [(0.02, 5), (0.03, 9)])
def test_noisier_machines_take_the_number_of_pairs_that_is_advised(cv: float, pairs: int) -> None:
    assert comparisons.pairs_needed(cv) == pairs
    logs = planted(drawn(cv, num=3000, configs=2, seed=0))
    assert claimed(logs, DEFAULT_REPEATS).mean() < 0.6
    assert claimed(logs, min(pairs, 8)).mean() >= (0.78 if pairs <= 8 else 0.7)


def test_a_claim_here_is_the_claim_of_a_recommendation(same: Floats) -> None:
    different = claimed(planted(same), DEFAULT_REPEATS)
    picked = [*np.flatnonzero(different)[:3], *np.flatnonzero(~different)[:3]]
    for index in picked:
        run = MadeRun()
        for workers, logs in zip((0, 3), planted(same)[index], strict=True):
            run.add(config(num_workers=workers), **{SPEED: 1e4 * (1 + workers)})
            for repeat, log in enumerate(logs[:DEFAULT_REPEATS]):
                cells = {SPEED: 1e4 * np.exp(log), "metrics.val_acc": 0.9}
                run.add(config(num_workers=workers), stage="confirm", repeat=repeat, **cells)
        said = recommend(run.trials, run.sweep).how_sure
        is_claim = "not shown" not in said and "within the noise" not in said
        assert is_claim == different[index]


def test_a_verdict_here_is_the_verdict_of_a_sweep() -> None:
    logs = drawn(0.02, num=3, configs=8, seed=1)
    for sweep, worse in zip(logs, called_worse(logs, DEFAULT_REPEATS), strict=True):
        run = MadeRun()
        for workers, of_config in enumerate(sweep):
            for repeat, log in enumerate(of_config[:DEFAULT_REPEATS]):
                cells = {SPEED: 1e4 * np.exp(log), "metrics.val_acc": 0.9}
                cells |= {f"{SPEED}_low": np.nan, f"{SPEED}_high": np.nan}
                run.add(config(num_workers=workers), repeat=repeat, **cells)
        found = searched_configs(run.trials, run.sweep)
        assert (found["verdict"] == "worse").tolist() == worse.tolist()


def test_the_benchmark_prints_its_tables_and_is_the_same_each_time(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(comparisons, "NUM_FOR_RATES", 2000)
    printed = []
    for _ in range(2):
        assert comparisons.main(["--comparisons", "3"]) == 0
        printed.append(capsys.readouterr().out)
    assert printed[0] == printed[1]
    assert "| 3 % | " in printed[0]
    assert "not kept, takes 9 pairs" in printed[0]
