"""Runs with speeds drawn from a fixed seed, to be compared."""

from dataclasses import replace
from functools import cache
from typing import Any, cast

import numpy as np
import pandas as pd

from orchestrator.analysis.comparison.changes import Figure, changes_of
from orchestrator.analysis.statistics.intervals import Floats
from orchestrator.analysis.tables.run_tables import RunTables
from tests.orchestrator.analysis.made_runs import MadeRun, config

SPEED = "metrics.samples_per_s"
CONFIGS = [config(num_workers=n) for n in (0, 3, 6, 8)]


def run_of(
    seed: int, *, factor: float = 1.0, repeats: int = 3, noise: float = 0.02, day: float = 1.0
) -> RunTables:
    """Four configs of 1,000 samples/s times ``day``; the third one ``factor`` times as fast."""
    run = base_run(repeats)
    rng = np.random.default_rng(seed)
    third = np.where(run.trials["params.num_workers"] == CONFIGS[2]["num_workers"], factor, 1.0)
    speeds = 1000 * day * third * np.exp(noise * rng.standard_normal(len(run.trials)))
    return with_cells(run, **{SPEED: speeds})


@cache
def base_run(repeats: int) -> RunTables:
    made = MadeRun()
    for repeat in range(repeats):
        for c in CONFIGS:
            made.add(c, repeat=repeat)
    return made.tables


def with_cells(run: RunTables, **cells: object) -> RunTables:
    return replace(run, trials=run.trials.assign(**cast("Any", cells)))


def with_sweep(run: RunTables, **fields: object) -> RunTables:
    return replace(run, sweep=replace(run.sweep, **cast("Any", fields)))


def changes_from(first: Floats, second: Floats) -> pd.DataFrame:
    """Changes between logarithms of speeds: a row a config, a column a run."""
    cells = {
        f"{name}_{side}": cell
        for side, logs in (("first", first), ("second", second))
        for name, cell in (
            ("log", logs.mean(axis=1)), ("variance", logs.var(axis=1, ddof=1)),
            ("clean", logs.shape[1]),
        )
    }  # fmt: skip
    rows = pd.DataFrame({"stage": "train", **cells})
    return changes_of(rows, ("log", "variance", "clean"), sign=1.0)


def ratios_of(
    rng: np.random.Generator,
    *,
    runs: int = 3,
    noise: float = 0.02,
    changes: tuple[float, ...] = (1.0,) * len(CONFIGS),
) -> pd.DataFrame:
    """Ratios of two runs of configs that differ by ``changes``, estimated from drawn speeds."""
    first, second = (noise * rng.standard_normal((len(changes), runs)) for _ in range(2))
    return changes_from(first, second + np.log(changes)[:, None])


def speed_of(rows: pd.DataFrame, *, tolerance: float = 0.03) -> Figure:
    """The ratios as a figure to be judged."""
    limited = rows.assign(limit=-np.log(1 - tolerance))
    return Figure(metric="samples_per_s", is_ratio=True, rows=limited)
