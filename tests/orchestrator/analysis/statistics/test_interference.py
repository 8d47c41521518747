"""The effect of background trials, from rounds of isolated and co-located runs."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from orchestrator.analysis.comparable import GROUP
from orchestrator.analysis.findings.findings import findings
from orchestrator.analysis.statistics.interference import Interference, interference_effect
from tests.orchestrator.analysis.made_runs import SPEED, MadeRun, config

OTHERS = "metrics.others_cores"
SPEEDS = {0: 400.0, 3: 1000.0}
"""Isolated speed of two configs, which are told apart by their workers."""


def add(run: MadeRun, workers: int, speed: float, **cells: Any) -> None:  # noqa: ANN401
    """Add a run of a config; accurate, of one memory, and beside another one if it may be."""
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
    effect = interference_effect(run.trials, run.record)
    assert effect is not None
    return effect


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


def test_co_located_and_isolated_rows_are_ranked_apart_once_the_sweep_acted_on_an_effect() -> None:
    run = checked_run(0.85)
    assert run.tables.grouped[GROUP].nunique() == 1
    for workers, speed in ((0, 400.0), (3, 1000.0), (6, 900.0)):
        add(run, workers, speed, isolation="exclusive")

    assert set(run.tables.grouped[GROUP]) == {"trials isolated", "trials co-located"}
    assert run.tables.main_group == "trials isolated"
    assert effect_of(run).acted_on
    assert "the sweep ran isolated from then on" in effect_of(run).text
