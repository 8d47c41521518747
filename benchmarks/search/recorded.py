"""Tables of recorded speeds and curves: made from run directories, and read as a truth.

    python -m benchmarks.search.recorded lenet --speeds RUN_DIR --curves RUN_DIR

A truth of all configs is composed of them, by the knobs' roles: speeds are of short isolated runs,
curves of whole trainings with one loader setting.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd

from benchmarks.search.truth import Timing, Truth
from orchestrator import Sweep
from orchestrator.analysis.statistics.pooling import disturbed
from orchestrator.analysis.tables.load import load_run
from orchestrator.arguments import Parser
from orchestrator.search import Grid
from orchestrator.space.configs import replaced
from orchestrator.trial import TrialState
from sweeps.mnist_tuning import SWEEP as MNIST_TUNING
from sweeps.products_tuning import SWEEP as PRODUCTS_TUNING

TABLES: Final = Path(__file__).parent / "tables"
LONG_PRODUCTS_TUNING: Final = replace(PRODUCTS_TUNING, epochs=200)
SWEEPS: Final[Mapping[str, Sweep[Any]]] = {
    "lenet": MNIST_TUNING,
    "sage": PRODUCTS_TUNING,
    "sage-long": LONG_PRODUCTS_TUNING,
}
SPEEDS: Final[Mapping[str, str]] = {"sage-long": "sage"}
"""Tables with the speeds of another one: only the number of epochs differs."""
LENET_200: Final[Mapping[str, object]] = {
    "prefetch_factor": 2,
    "channels_last": False,
    "momentum": 0.9,
}
"""Knobs that the smaller truth of LeNet's tables does not vary: 200 configs are left."""
LENET_LEARNING: Final[Mapping[str, object]] = {
    "data_path": "batched", "num_workers": 2, "prefetch_factor": 2, "channels_last": False,
}  # fmt: skip
"""Knobs of the loader, which the truth of learning alone does not vary: 50 configs are left."""
_TIMES: Final = ("samples_per_s", "epoch_start_s", "eval_s", "train_s")


def keep_speeds(name: str, run_dir: Path) -> None:
    """Write the table of speeds from the run that recorded them."""
    own = load_run(run_dir)
    done = own.trials[own.trials["state"] == TrialState.COMPLETED]
    times = [f"metrics.{figure}" for figure in _TIMES]
    knobs = [f"params.{knob}" for knob in own.sweep.space]
    done = _clean(done, knobs)
    kept = done[[*knobs, *times, "wall_s"]].rename(columns=_plain)
    kept["epochs"] = done["metrics.epochs"]
    kept.to_parquet(TABLES / f"{name}_speeds.parquet", index=False)


def keep_curves(name: str, run_dir: Path) -> None:
    """Write the table of curves from the run that recorded them."""
    learned = load_run(run_dir)
    known = learned.trials.set_index("trial_id")
    knobs = [f"params.{knob}" for knob in learned.sweep.space]
    rows = learned.curves.join(known[[*knobs, "repeat"]], on="trial_id")
    kept = rows[[*knobs, "repeat", "epoch", "samples", "metrics.val_acc"]].rename(columns=_plain)
    kept.to_parquet(TABLES / f"{name}_curves.parquet", index=False)


def _clean(done: pd.DataFrame, knobs: Sequence[str]) -> pd.DataFrame:
    """Return the uncontaminated runs; of a setting without any, all runs."""
    is_loaded = disturbed(done)
    has_clean = (~is_loaded).groupby(done[list(knobs)].astype(str).agg("|".join, axis=1))
    return done[~is_loaded | ~has_clean.transform("any")]


def recorded(name: str, fixed: Mapping[str, object] = {}) -> Truth:
    """Return the truth that is composed of the recorded tables ``name``.

    Args:
        name: Name of the tables, of :data:`SWEEPS`.
        fixed: Knobs that it does not vary, and their values.
    """
    sweep = SWEEPS[name]
    sweep = replace(
        sweep,
        space=replaced(sweep.space, fixed),
        baseline=replaced(sweep.baseline, fixed),
    )
    speeds = pd.read_parquet(TABLES / f"{SPEEDS.get(name, name)}_speeds.parquet")
    curves = pd.read_parquet(TABLES / f"{name}_curves.parquet")
    empty = Truth(name=name, sweep=sweep, timings={}, curves={}, samples=0)
    speeds, curves = _of_the_space(speeds, empty), _of_the_space(curves, empty)
    log_speed = np.log(speeds["samples_per_s"])
    by_speed = _grouped(speeds, empty, empty.speed_key)
    by_curve = _grouped(curves, empty, empty.curve_key)
    log_spread = _pooled_spread(log_speed, by_speed)
    last = curves["epoch"] == curves["epoch"].max()
    num_seeds = int(curves["repeat"].groupby(by_curve).nunique().min())
    samples = int(curves.loc[last, "samples"].max() / curves["epoch"].max())
    # All evaluate the same model on the same split.
    eval_s = float((speeds["eval_s"] / speeds["epochs"]).median())
    timings = {
        key: Timing(
            samples_per_s=float(np.exp(log_speed[rows.index].mean())),
            set_up_s=float((rows["wall_s"] - rows["train_s"] - rows["eval_s"]).median()),
            epoch_start_s=float(rows["epoch_start_s"].median()),
            eval_s=eval_s,
        )
        for key, rows in speeds.groupby(by_speed)
    }
    table = {
        key: rows.pivot_table(index="repeat", columns="epoch", values="val_acc").to_numpy()
        for key, rows in curves.groupby(by_curve)
    }
    return Truth(
        name=name,
        sweep=sweep,
        timings=timings,
        curves=table,
        samples=samples,
        log_spread=empty.log_spread if log_spread is None else log_spread,
        spread=(_pooled_spread(curves.loc[last, "val_acc"], by_curve[last]) or 0.0)
        if num_seeds == 1
        else 0.0,
    )


def _pooled_spread(values: pd.Series[Any], group: pd.Series[Any]) -> float | None:
    """Return the standard deviation within groups; None where no group has two values."""
    variance = values.groupby(group).var().mean()
    return None if pd.isna(variance) else float(variance**0.5)


def _grouped(rows: pd.DataFrame, truth: Truth, key_of: Any) -> pd.Series[Any]:  # noqa: ANN401
    """Return the key of each row's config within the whole sweep."""
    candidates = Grid().candidates(truth.problem)
    known = {key_of(config) for config in map(candidates.config, candidates.keys)}
    base = dict(truth.problem.base)
    keys = [
        key_of(truth.problem.canonical({**base, **_of_base(row, base)}))
        for row in rows.to_dict("records")
    ]
    missing = known - set(keys)
    if missing:
        raise ValueError(f"{truth.name}: {len(missing)} of {len(known)} are not recorded")
    return pd.Series(keys, index=rows.index)


def _of_the_space(rows: pd.DataFrame, truth: Truth) -> pd.DataFrame:
    """Return the rows with the baseline's value of every knob that the space does not vary."""
    problem, base = truth.problem, dict(truth.problem.base)
    fixed = [name for name in rows.columns if name in base and name not in problem.domains]
    configs = [
        problem.canonical({**base, **_of_base(row, base)}) for row in rows.to_dict("records")
    ]
    is_in = [all(config[name] == base[name] for name in fixed) for config in configs]
    return rows[is_in]


def _of_base(row: Mapping[Any, Any], base: Mapping[str, Any]) -> dict[str, Any]:
    return {name: type(base[name])(row[name]) for name in base if name in row}


def _plain(column: str) -> str:
    return column.removeprefix("params.").removeprefix("metrics.")


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the tables."""
    parser = Parser(prog="python -m benchmarks.search.recorded")
    parser.add_argument("name", choices=SWEEPS)
    parser.add_argument("--speeds", type=Path, metavar="RUN_DIR")
    parser.add_argument("--curves", type=Path, metavar="RUN_DIR")
    options = parser.parse_args(arguments)
    if options.speeds:
        keep_speeds(options.name, options.speeds)
    if options.curves:
        keep_curves(options.name, options.curves)
    return 0


if __name__ == "__main__":
    sys.exit(main())
