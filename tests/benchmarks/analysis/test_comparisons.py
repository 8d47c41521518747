from __future__ import annotations

import numpy as np
import pytest

from benchmarks.analysis import comparisons
from benchmarks.analysis.comparisons import (
    AA_CV,
    ANALYSES,
    CVS,
    FINALISTS,
    SEARCH_RUNS,
    Floats,
    Noise,
    called_worse,
    claimed,
    drawn,
    measured_cv,
    pairs_in_blocks,
    planted,
)
from orchestrator.analysis.recommendation.recommend import recommend
from orchestrator.search.stages.interim_analyses import InterimAnalyses
from tests.orchestrator.analysis.made_runs import MadeRun, config


@pytest.fixture(scope="module")
def same() -> Floats:
    return pairs_in_blocks(Noise(cv=AA_CV), num=40, seed=0)


@pytest.mark.parametrize("cv", CVS)
def test_a_config_is_called_different_from_itself_in_at_most_five_of_a_hundred_cases(
    cv: float,
) -> None:
    assert claimed(drawn(cv, num=3000, configs=2, seed=0)).is_different.mean() <= 0.05


@pytest.mark.parametrize("cv", CVS)
def test_a_planted_difference_is_found_in_at_least_eighty_of_a_hundred_cases(cv: float) -> None:
    claims = claimed(planted(drawn(cv, num=2000, configs=2, seed=0)))
    assert claims.is_different.mean() >= 0.8
    assert claims.num_pairs.max() <= ANALYSES.last


def test_the_same_rates_hold_for_runs_that_are_measured_in_blocks(same: Floats) -> None:
    assert measured_cv(same) == pytest.approx(AA_CV, rel=0.1)
    assert claimed(same).is_different.sum() <= 3  # of 40; of 3000 without blocks, see above
    assert claimed(planted(same)).is_different.sum() >= 0.8 * 40


def test_interim_analyses_without_a_correction_would_claim_too_much() -> None:
    class Careless(InterimAnalyses):
        def level(self, num_pairs: int) -> float:
            return 0.05 * FINALISTS  # whoever shares it out over them has it back

    logs = drawn(AA_CV, num=3000, configs=2, seed=0)
    assert claimed(logs, Careless(first=3, last=13)).is_different.mean() > 0.07


def test_of_many_equal_configs_few_are_called_worse() -> None:
    worse = called_worse(drawn(AA_CV, num=100, configs=8, seed=0), SEARCH_RUNS)
    assert worse.sum() <= 0.05 * 700


def test_a_claim_here_is_the_claim_of_a_recommendation(same: Floats) -> None:
    claims = claimed(planted(same))
    different = claims.is_different
    picked = [*np.flatnonzero(different)[:2], *np.flatnonzero(~different)[:2]]
    for index in picked:
        run = MadeRun()
        run.sweep["max_confirm"] = ANALYSES.last
        for workers, logs in zip((0, 3), planted(same)[index], strict=True):
            run.add_runs(config(num_workers=workers), [1e4 * (1 + workers)])
            speeds = 1e4 * np.exp(logs[: claims.num_pairs[index]])
            run.add_runs(config(num_workers=workers), speeds, stage="confirm")
        for contender in range(FINALISTS - 1):
            lost = config(num_workers=1, threads=contender + 1)
            run.add_runs(lost, [1e4])
            run.add_runs(lost, [5e3], stage="confirm")
        found = recommend(run.tables)
        assert found.speedup is not None
        is_claim = found.speedup.leads and "within the" not in found.how_sure
        assert is_claim == different[index]


def test_a_verdict_here_is_the_verdict_of_a_sweep() -> None:
    logs = drawn(0.02, num=3, configs=8, seed=1)
    for sweep, worse in zip(logs, called_worse(logs, SEARCH_RUNS), strict=True):
        run = MadeRun()
        for workers, of_config in enumerate(sweep):
            speeds, unknown = 1e4 * np.exp(of_config[:SEARCH_RUNS]), float("nan")
            run.add_runs(config(num_workers=workers), speeds, within=unknown)
        found = run.tables.ranked
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
    assert printed[0].count(": kept") == 6
