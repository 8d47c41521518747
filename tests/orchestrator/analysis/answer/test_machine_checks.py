"""What is to be known of the machine."""

from __future__ import annotations

from dataclasses import replace

import pytest

from orchestrator.analysis.answer.machine_checks import (
    Health,
    busy_machine,
    drift_check,
    interference_check,
    noise_check,
    other_load,
)
from orchestrator.analysis.recommendation.recommend import Recommendation, recommend
from orchestrator.analysis.recommendation.speedup import Basis, Speedup
from orchestrator.analysis.statistics.drift import Drift
from orchestrator.analysis.statistics.interference import Interference
from orchestrator.analysis.statistics.noise_floor import NoiseFloor
from orchestrator.trial import Stage
from tests.orchestrator.analysis.made_runs import MadeRun, config

NOISE = NoiseFloor(stage=Stage.CONFIRM, num_runs=3, largest_ratio=1.02, cv=0.01)
DRIFT = Drift(
    change=0.03, low=0.01, high=0.05, p_value=0.01, num_configs=2, num_runs=6, span_s=60.0
)


@pytest.fixture(scope="module")
def recommendation() -> Recommendation:
    run = MadeRun()
    run.add_runs(config(), [1000.0])
    return recommend(run.tables)


def loaded(num_dirty: int, num_clean: int) -> MadeRun:
    run = MadeRun()
    run.add_runs(config(), [1000.0] * num_clean, **{"metrics.foreign_share": 0.01})
    dirty = {"tags.contaminated": "30 %", "metrics.foreign_share": 0.3}
    run.add_runs(config(), [900.0] * num_dirty, first=num_clean, **dirty)
    return run


@pytest.mark.parametrize(
    ("num_dirty", "num_clean", "health", "text"),
    [
        (0, 4, Health.PASS, "0 of 4 runs disturbed"),
        (
            1,
            3,
            Health.WARNING,
            "1 of 4 runs disturbed, where others took 30 % of their cores' time",
        ),
    ],
)
def test_disturbed_runs_are_counted(
    num_dirty: int, num_clean: int, health: Health, text: str
) -> None:
    check = other_load(loaded(num_dirty, num_clean).tables)
    assert (check.health, check.text) == (health, text)


def test_runs_that_were_not_watched_are_not_called_undisturbed() -> None:
    run = loaded(1, 2)
    run.rows[0]["tags.contaminated"] = None  # on cores that were not its own
    assert other_load(run.tables).text.startswith("1 of 2 runs disturbed")
    for row in run.rows:
        row["tags.contaminated"] = None
    assert other_load(run.tables).health is Health.UNKNOWN


@pytest.mark.parametrize(("num_dirty", "is_busy"), [(0, False), (1, False), (2, True)])
def test_a_machine_is_busy_where_a_quarter_of_its_runs_was_disturbed(
    num_dirty: int, is_busy: bool
) -> None:
    assert bool(busy_machine(loaded(num_dirty, 8 - num_dirty).tables)) is is_busy


@pytest.mark.parametrize(
    ("drift", "health", "text"),
    [
        (None, Health.UNKNOWN, "too few configs were repeated to tell"),
        (DRIFT, Health.WARNING, "speeds changed by +3.0 %"),
        (replace(DRIFT, change=0.01), Health.PASS, "speeds changed by +1.0 %"),
        (replace(DRIFT, p_value=0.4), Health.PASS, "none shown (+3.0 %)"),
        (replace(DRIFT, change=1.1, low=-0.77, high=18.4), Health.UNKNOWN,
         "not known: the interval spans more than a factor of 1.5"),
    ],
)  # fmt: skip
def test_drift(
    recommendation: Recommendation, drift: Drift | None, health: Health, text: str
) -> None:
    check = drift_check(replace(recommendation, drift=drift))
    assert (check.health, check.text) == (health, text)


@pytest.mark.parametrize(
    ("ratio", "low", "high", "health", "text"),
    [
        (0.9, 0.88, 0.92, Health.WARNING, "co-located trials have 90 % of the isolated speed"),
        (0.99, 0.97, 1.01, Health.PASS, "not shown (99 %)"),
        (0.73, 0.29, 1.79, Health.UNKNOWN, "not known: the interval spans more than a factor"),
    ],
)
def test_interference(
    recommendation: Recommendation, ratio: float, low: float, high: float, health: Health, text: str
) -> None:
    effect = Interference(
        ratio=ratio, low=low, high=high, num_configs=1, num_runs=6, tie_margin=0.02
    )
    tables = MadeRun().tables
    (check,) = interference_check(tables, replace(recommendation, interference=effect))
    assert check.health is health
    assert check.text.startswith(text)
    assert not list(interference_check(tables, replace(recommendation, interference=None)))


@pytest.mark.parametrize(
    ("noise", "ratio", "health", "text"),
    [
        (None, 1.3, Health.UNKNOWN, "the baseline was not repeated"),
        (NOISE, 1.3, Health.PASS, "runs of the baseline differ by up to 2.0 %"),
        (NOISE, 1.01, Health.WARNING,
         "runs of the baseline differ by up to 2.0 %: the speed-up is within it"),
        (replace(NOISE, largest_ratio=9.0), 1.3, Health.WARNING,
         "runs of the baseline differ by more than a factor of 1.5"),
    ],
)  # fmt: skip
def test_noise(
    recommendation: Recommendation,
    noise: NoiseFloor | None,
    ratio: float,
    health: Health,
    text: str,
) -> None:
    speedup = Speedup(ratio=ratio, low=ratio - 0.001, high=ratio + 0.001, basis=Basis.CONFIRM)
    check = noise_check(replace(recommendation, noise=noise, speedup=speedup))
    assert (check.health, check.text) == (health, text)
