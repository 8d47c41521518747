"""The part of the machine in differences: noise, drift, and interference."""

import math
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from orchestrator.analysis.comparable import GROUP
from orchestrator.analysis.findings.caveats import Caveat
from orchestrator.analysis.findings.findings import findings
from orchestrator.analysis.statistics.machine import Interference, interference_effect
from tests.orchestrator.analysis.made_runs import SPEED, MadeRun, config

FAST = config(num_workers=3)


def test_the_floor_is_the_spread_between_fresh_runs_of_one_config() -> None:
    run = MadeRun()
    run.add_runs(config(), [1000.0, 1050.0, 980.0])
    run.add_runs(FAST, [5000.0])
    text = "fresh runs of one config differ by 3.5 % (coefficient of variation, pooled over 1 "
    assert text in noise_of(run)
    assert noise_of(run).startswith("pass")
    assert findings(run.tables).tables.pool.to_json()["cv"] == pytest.approx(0.0355, rel=0.01)


def test_runs_that_differ_by_too_much_distinguish_no_configs() -> None:
    run = MadeRun()
    run.add_runs(config(), [1000.0, 1500.0, 700.0])
    assert noise_of(run).startswith("warning")
    assert noise_of(run).endswith("too much for the search to tell configs apart")
    run = MadeRun()
    run.add_runs(config(), [1000.0])
    assert noise_of(run) == "not known: no config was run twice"


def noise_of(run: MadeRun) -> str:
    checks = findings(run.tables).checks
    (found,) = (check for check in checks if check.code is Caveat.NOISE)
    return f"{found.health}: {found.text}"


def drifting(slope: float, *, num: int = 6, step: float = 0.0, seed: int = 0) -> MadeRun:
    """Runs of the baseline every ten minutes, ``slope`` of log speed an hour; confirm is faster."""
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
    assert drift.is_significant
    assert drift.low < drift.ratio < drift.high < 1
    assert drift.per_hour == pytest.approx(-0.06, abs=0.01)
    assert drift.text.startswith("the machine became slower by ")
    assert drift.to_json()["is_significant"]


def test_the_slope_and_its_p_value_are_those_of_a_least_squares_line() -> None:
    run = drifting(-0.02)
    run.rows = run.rows[:6]
    drift = run.tables.drift
    line = stats.linregress(np.arange(6) / 6, np.log([row[SPEED] for row in run.rows]))
    assert drift.per_hour == pytest.approx(np.expm1(line.slope))
    assert drift.p_value == pytest.approx(line.pvalue)


def test_a_step_between_stages_is_no_drift() -> None:
    for seed in range(5):
        drift = drifting(0.0, step=0.2, seed=seed).tables.drift
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
    line = stats.linregress(range(4), changes)
    assert drift.p_value == pytest.approx(line.pvalue)
    assert drift.num_runs == 16


OTHERS = "metrics.others_cores"
SPEEDS = {0: 400.0, 3: 1000.0}
"""Isolated speed of two configs, by their workers."""


def add(run: MadeRun, workers: int, speed: float, **cells: Any) -> None:  # noqa: ANN401
    """Add a run of a config; accurate, of one memory, and co-located if it may be."""
    others = 0.0 if cells.get("isolation") == "exclusive" else 1.0
    run.add_runs(config(num_workers=workers), [speed], **{OTHERS: others, **cells})


def checked_run(
    ratio: float, noise: float = 0.005, seed: int = 0, *, drift: float = 0.0
) -> MadeRun:
    """Return two configs in three rounds of both ways; the host speeds up by ``drift``."""
    run, rng = MadeRun(), np.random.default_rng(seed)
    for workers, speed in SPEEDS.items():
        add(run, workers, speed * ratio * math.exp(noise * rng.standard_normal()))
    ways = [way for number in range(3) for way in ((True, False), (False, True))[number % 2]]
    for place, is_isolated in enumerate(ways):
        host = (1 + drift) ** (place / (len(ways) - 1))
        for workers, speed in SPEEDS.items():
            effect = host * (1 if is_isolated else ratio)
            add(
                run,
                workers,
                speed * effect * math.exp(noise * rng.standard_normal()),
                stage="probe",
                first=1 + place // 2,
                isolation="exclusive" if is_isolated else "leased",
            )
    return run


def effect_of(run: MadeRun) -> Interference:
    return interference_effect(run.trials, run.record)


def test_an_effect_is_found_and_stated() -> None:
    run = checked_run(0.85)
    effect = effect_of(run)
    assert effect.is_shown
    assert effect.low < 0.85 < effect.high
    assert (effect.num_configs, effect.num_runs) == (2, 12)
    assert "15." in effect.text or "14." in effect.text
    assert any("slower than isolated ones" in note for note in findings(run.tables).notes)


def test_an_effect_below_the_margin_of_a_tie_is_none_however_quiet_the_host() -> None:
    assert "an effect under 2.0 %" in effect_of(checked_run(1.0, noise=0.0001)).text
    run = checked_run(0.985, noise=0.0005)
    assert not effect_of(run).is_shown
    run.sweep["tie_margin"] = 0.005
    assert effect_of(run).is_shown


def num_shown(run: MadeRun, *, noise: float, draws: int) -> int:
    """Return in how many draws of the noise an effect is shown; ``run`` itself has none."""
    rng, trials, record = np.random.default_rng(0), run.trials, run.record
    speeds = trials[SPEED].to_numpy() * np.exp(noise * rng.standard_normal((draws, len(trials))))
    effects = [interference_effect(trials.assign(**{SPEED: drawn}), record) for drawn in speeds]
    return sum(effect is not None and effect.is_shown for effect in effects)


@pytest.mark.parametrize("drift", [-0.1, 0.0, 0.1])
def test_where_there_is_no_effect_one_is_seldom_shown_on_a_host_that_drifts(drift: float) -> None:
    assert num_shown(checked_run(1.0, 0.0, drift=drift), noise=0.02, draws=40) <= 4


def test_probes_of_the_search_itself_are_no_runs_of_the_check() -> None:
    """The fastest of many probes looks slower when it is trained, co-located or not."""
    run = checked_run(1.0, 0.001)
    add(run, 0, 480.0, stage="probe", isolation="exclusive")
    effect = effect_of(run)
    assert effect.ratio == pytest.approx(1, abs=0.01)
    assert effect.num_runs == 12


def test_the_effect_is_not_known_without_two_rounds_of_both_ways() -> None:
    run = MadeRun()
    for workers, speed in SPEEDS.items():
        add(run, workers, speed)
    assert interference_effect(run.trials, run.record) is None
    add(run, 0, 400.0, stage="probe", isolation="exclusive")
    assert interference_effect(run.trials, run.record) is None
    assert interference_effect(run.trials.iloc[:0], run.record) is None


def test_co_located_and_isolated_rows_are_ranked_separately_after_an_effect() -> None:
    run = checked_run(0.85)
    assert run.tables.grouped[GROUP].nunique() == 1
    for workers, speed in ((0, 400.0), (3, 1000.0), (6, 900.0)):
        add(run, workers, speed, isolation="exclusive")

    assert set(run.tables.grouped[GROUP]) == {"trials isolated", "trials co-located"}
    assert run.tables.main_group == "trials isolated"
    assert effect_of(run).acted_on
    assert "the sweep ran isolated from then on" in effect_of(run).text
