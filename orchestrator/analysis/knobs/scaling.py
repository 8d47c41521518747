"""Speed, the time to an accuracy and its price over one knob: workers, ranks, GPUs, a batch."""

from typing import Final

import numpy as np
import pandas as pd

from orchestrator.analysis.columns import TableError, numbers_of, params_of, texts_of
from orchestrator.analysis.comparable import GROUP
from orchestrator.analysis.rule import SPEED, TIME, limit_of
from orchestrator.analysis.statistics.by_config import COMPUTE, LOADER
from orchestrator.analysis.statistics.curves import accuracy_asked
from orchestrator.analysis.statistics.intervals import t_quantile
from orchestrator.analysis.tables.checks import require
from orchestrator.analysis.tables.run_tables import RunTables
from orchestrator.errors import nearest
from orchestrator.metrics import is_accuracy
from orchestrator.trial import Stage

FAMILY: Final = "family"
"""Column that numbers the configs which differ in the knob alone."""
_ENDS: Final = (f"{TIME}_low", f"{TIME}_high")


def scaling(
    run: RunTables, knob: str = "num_workers", *, target: float | None = None, best: bool = False
) -> pd.DataFrame:
    """Return speeds and times to an accuracy over one knob, with what each further step costs.

    Args:
        run: A run.
        knob: A knob of numbers.
        target: As in :func:`~orchestrator.analysis.api.to_accuracy.time_to_accuracy`.
        best: False: configs that differ in the knob alone. True: the config of each value of the
            knob that reaches the target first, since with more ranks another batch or learning
            rate may be the best.

    Returns:
        One row a config and ``family``, in the order of the knob: ``params.*``, the knob first;
        ``group``; ``metrics.samples_per_s`` with its interval; ``speedup`` over the smallest value
        of the family, with the ends ``speedup_low`` and ``speedup_high`` of its 95 % interval, NaN
        if nothing was repeated or the sweep's first objective is another figure;
        ``efficiency``, the speed-up over the ratio of the values, NaN if the smallest is 0;
        ``ceiling_samples_per_s``, the slower of loader alone and model alone;
        ``num_runs``;
        ``interval``, what the measured interval is over;
        ``metrics.time_to_accuracy_s`` with its interval; ``devices``, its GPUs or, without any,
        its cores; and to the target: ``device_s``, their time, ``energy_j`` by the mean power of
        its runs, ``cost`` by the sweep's prices; the accuracy at the end;
        ``pays``, whether the step from the value before saves a larger share of the time than it
        adds to the device-seconds: ``yes``, ``no`` or, within the noise, ``not decided``.

    Raises:
        TableError: The knob is unknown, is no number, or no two configs differ in it alone; or no
            trial has a speed.

    Source: strong scaling, speed-up and efficiency (Amdahl, "Validity of the single processor
    approach", 1967); a step pays up to the largest efficiency over time (Eager, Zahorjan and
    Lazowska, "Speedup versus efficiency in parallel systems", IEEE Transactions on Computers 38,
    1989).
    """
    name = knob.removeprefix("params.")
    if name not in run.sweep.knobs:
        raise TableError(
            f"scaling: {run.sweep.trainable or 'the trainable'} has no knob {name!r}"
            f"{nearest(name, run.sweep.knobs)}",
            f"knobs: {', '.join(run.sweep.knobs)}",
        )
    column = f"params.{name}"
    require(run.configs, [SPEED], "scaling")
    frame = run.configs[run.configs[SPEED].notna()].reset_index(drop=True)
    frame = _to_target(frame, run, target)
    if run.rule.speed_column != SPEED:  # the spread belongs to another figure
        frame = frame.assign(variance=np.nan)
    if best:  # the config of each value that reaches the target first, else the fastest
        frame = frame[frame[GROUP] == run.main_group].sort_values(
            [TIME, SPEED], ascending=[True, False]
        )
        frame = frame.drop_duplicates(column).sort_values(column, ignore_index=True)
    rows = _with_steps(_with_speedups(_families(frame, column, best=best), column), column)
    first = [column, *(name for name in params_of(frame) if name != column), FAMILY, GROUP]
    figures = [
        SPEED, f"{SPEED}_low", f"{SPEED}_high", "speedup", "speedup_low", "speedup_high",
        "efficiency", "ceiling_samples_per_s", "num_runs", "interval",
        TIME, *_ENDS, "devices", "device_s", "energy_j", "cost",
        run.rule.accuracy_column, "pays",
    ]  # fmt: skip
    table = rows.reindex(columns=list(dict.fromkeys([*first, *figures])))
    return table.sort_values([FAMILY, column]).reset_index(drop=True)


def turning_point(rows: pd.DataFrame) -> float | None:
    """Return the value from which on no step pays; None if the last step may.

    Args:
        rows: A family of :func:`scaling`, in the order of the knob.
    """
    still = int(np.flatnonzero(rows["pays"] != "no")[-1])  # the first row is no step
    return None if still == len(rows) - 1 else float(rows.iloc[:, 0].to_numpy()[still])


def _to_target(frame: pd.DataFrame, run: RunTables, target: float | None) -> pd.DataFrame:
    """Add the time to the target, and what runs take until then; NaN without curves."""
    if target is None and run.rule.accuracy_column not in run.whole_curves.columns:
        return frame.assign(**dict.fromkeys((TIME, *_ENDS, "device_s"), np.nan))
    times = run.times_to(target_of(target, run, "scaling"), frame)
    taken_s = times["reached_s"]
    device, cores = texts_of(frame, "device"), numbers_of(frame, "cores")
    gpus = (device.str.count(", ") + 1.0).where(~device.isin(["", "cpu"]), 0.0)
    devices = gpus.where(gpus > 0, cores)
    trials, prices = run.trials.set_index("trial_id"), run.sweep.prices
    watts = numbers_of(trials, "metrics.energy_j") / numbers_of(trials, "wall_s")
    watts = frame["timed_ids"].explode().map(watts).astype("float64").groupby(level=0).mean()
    per_hour = prices.get("cpu_hour", 0.0) * cores + prices.get("gpu_hour", 0.0) * gpus
    return frame.assign(
        **{TIME: taken_s, _ENDS[0]: times["reached_low"], _ENDS[1]: times["reached_high"]},
        devices=devices,
        device_s=devices * taken_s,
        energy_j=watts * taken_s,
        cost=per_hour * taken_s / 3600 if prices else np.nan,
    )


def _with_steps(rows: pd.DataFrame, column: str) -> pd.DataFrame:
    """Add whether each step pays: whether the time times the device-seconds falls.

    A value that does not reach the target does not pay. Noise is that of both times.
    """
    rows = rows.sort_values([FAMILY, column], ignore_index=True)
    product = (rows[TIME] * rows["device_s"]).map(np.log)
    half = (rows[_ENDS[1]] / rows[_ENDS[0]]).map(np.log)  # of the square of the time
    before = pd.DataFrame({"at": product, "half": half}).groupby(rows[FAMILY]).shift()
    change, error = product - before["at"], np.hypot(half, before["half"])
    is_lost = before["at"].notna() & product.isna()
    pays = np.select(
        [change + error < 0, (change - error > 0) | is_lost],
        ["yes", "no"],
        np.where(change.notna(), "not decided", ""),
    )
    return rows.assign(pays=pays)


def _families(frame: pd.DataFrame, column: str, *, best: bool) -> pd.DataFrame:
    """Return the rows of families of two and more values, by ``family``; all one if ``best``."""
    if not pd.api.types.is_numeric_dtype(frame[column]) or frame[column].dtype == "boolean":
        raise TableError(f"scaling: {column} is no number, so that nothing scales with it")
    if frame[column].nunique() < 2:
        values = ", ".join(map(str, frame[column].unique())) or "none, since no config completed"
        raise TableError(f"scaling: {column} was not varied; its values: {values}")
    if best:
        return frame.assign(**{FAMILY: 0})
    others = [*(name for name in params_of(frame) if name != column), GROUP]
    rows = frame.assign(**{FAMILY: frame.groupby(others, sort=False, dropna=False).ngroup()})
    rows = rows[rows.groupby(FAMILY)[column].transform("nunique") > 1].reset_index(drop=True)
    if rows.empty:
        raise TableError(f"scaling: no two configs differ in {column} alone")
    return rows.assign(**{FAMILY: pd.factorize(rows[FAMILY])[0]})


def _with_speedups(rows: pd.DataFrame, column: str) -> pd.DataFrame:
    """Add ratios to the smallest value of each family, and the slower of the two ceilings."""
    base = rows.loc[rows.groupby(FAMILY)[column].idxmin()].set_index(FAMILY)
    of_base = base.loc[rows[FAMILY]].set_axis(rows.index)
    speedup = rows[SPEED] / of_base[SPEED]
    is_base = rows[column] == of_base[column]
    df = pd.concat([rows["df"], of_base["df"]], axis=1).astype("float64").min(axis=1, skipna=False)
    error = (rows["variance"] + of_base["variance"]).astype("float64") ** 0.5
    half = (error * t_quantile(df.to_numpy())).mask(is_base, 0.0)
    scale = (rows[column] / of_base[column].where(of_base[column] > 0)).astype("float64")
    return rows.assign(
        speedup=speedup,
        speedup_low=speedup * np.exp(-half),
        speedup_high=speedup * np.exp(half),
        efficiency=speedup / scale,
        ceiling_samples_per_s=rows.reindex(columns=[LOADER, COMPUTE]).min(axis=1, skipna=False),
    )


def target_of(target: float | None, tables: RunTables, function: str) -> float:
    """Return the accuracy to reach: without one the sweep's target, or what its rule requires.

    Raises:
        TableError: No report has the accuracy, or the target is no fraction of 1.
    """
    rule, curves = tables.rule, tables.whole_curves
    metric = rule.accuracy.metric
    if rule.accuracy_column not in curves.columns:
        raise TableError(f"{function}: no report of the run has the accuracy {metric}")
    if target is None:
        if rule.target is None or rule.target.metric != metric:
            return accuracy_asked(tables.configs, rule)
        searched = tables.trials.loc[tables.trials["stage"] == Stage.TRAIN, "trial_id"]
        of_search = curves["trial_id"].isin(searched)
        return limit_of(rule.target, curves.loc[of_search, rule.accuracy_column])
    if is_accuracy(metric) and not 0 <= target <= 1:
        raise TableError(
            f"{function}: target={target:g}, but {metric} is a fraction of 1", "target=0.9, say"
        )
    return float(target)
