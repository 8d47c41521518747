"""The spread between fresh runs of one config, estimated from all configs that were repeated.

The model: the logarithm of a run's speed is the config's own level plus an error. Its variance
is the same for all configs of a stage. The estimate is the pooled within-config variance
of a one-way analysis of variance,

    s^2 = sum over configs and runs of (log speed - the config's mean)^2 / (runs - configs),

with runs - configs degrees of freedom (Searle, Casella and McCulloch, "Variance
Components", 1992, chapter 3). So a config with one run has an honest interval as soon as
any config has two.

The variation within a run, between blocks, is part of every run's error. So s^2 is at least the
mean within-run variance of its runs. If the runs of a config vary more within themselves than
these, the difference is added to its variance.

If the runs of a config differ far more than the others' (Cochran's test for an outlying variance,
as in ISO 5725-2, at 1 % corrected for the number of configs), the config keeps its own variance and
is left out of the pool. Disturbed runs are left out too, if others were repeated.
"""

from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pandas as pd

from orchestrator.analysis.columns import numbers_of, tagged, texts_of, varying_params_of
from orchestrator.analysis.comparable import ALL, GROUP, speed_stages
from orchestrator.formats import counted, percent
from orchestrator.trial import LOAD, Stage, TrialState

OVER_RUNS: Final = "between runs"
"""The interval is over the spread between fresh processes of this config."""
OVER_POOL: Final = "between runs, spread pooled over configs"
"""The interval is over the spread between fresh processes of this and other configs."""
OVER_ONE_RUN: Final = "one run; between-run noise not known"
"""The interval is the run's own, over blocks within it."""

MIN_OWN_DF: Final = 4
"""With fewer degrees of freedom a stage's pool includes the repeats of the other stages."""

_OUTLYING: Final = 0.01
_Z_975: Final = 1.96
_NEEDED: Final = ("stage", "state", "isolation", f"tags.{LOAD}", GROUP)


@dataclass(frozen=True, kw_only=True, eq=False)
class Pool:
    """The spread between fresh runs of one config.

    Attributes:
        variance: Of the logarithm of a run's speed, between runs.
        df: Degrees of freedom of ``variance``.
        within: Mean variance within the runs it rests on; 0 if none is known.
        num_configs: Configs with repeats that it rests on; a config counts once a stage.
        stages: The stages of these repeats.
        apart: Keys and stages of the cells whose variance is far larger: they keep their own.
        borrowed: These stages without the one it is used for.
    """

    variance: float
    df: int
    within: float
    num_configs: int
    stages: tuple[str, ...]
    apart: "pd.Index[Any]"
    borrowed: tuple[str, ...] = ()

    @property
    def cv(self) -> float:
        """Coefficient of variation of a run's speed."""
        return float(np.sqrt(np.expm1(self.variance)))

    @property
    def label(self) -> str:
        """The runs that an interval from this pool is over."""
        if self.borrowed:
            return f"{OVER_POOL} ({', '.join(self.borrowed)} runs included)"
        return OVER_POOL if self.num_configs > 1 else OVER_RUNS

    @property
    def text(self) -> str:
        """The spread in a sentence."""
        others = f", {' and '.join(self.borrowed)} runs included" if self.borrowed else ""
        return (
            f"fresh runs of one config differ by {percent(self.cv, digits=1)} (coefficient of "
            f"variation, pooled over {counted(self.num_configs, 'repeated config')}{others}; "
            f"{counted(self.df, 'degree')} of freedom)"
        )

    def to_json(self) -> dict[str, Any]:
        """Return the content for ``recommended.json``."""
        return {name: getattr(self, name) for name in ("cv", "df", "num_configs", "text")}


def spread_of(cells: pd.DataFrame, trials: pd.DataFrame, stage: Stage, speed: str) -> pd.DataFrame:
    """Return the spread of one run of each cell, from its pool or, for outliers, from the cell.

    Args:
        cells: Rows of :func:`speed_cells` with the ``config`` (:func:`config_ids`) and ``group``.
        trials: The trials that are pooled.
        stage: The stage of the cells.
        speed: The figure.

    Returns:
        ``variance`` of the log speed and its degrees of freedom ``df``, NaN without a pool, and
        what the ``interval`` is over.
    """
    unknown = {"variance": np.nan, "df": np.nan, "interval": OVER_ONE_RUN}
    spread = pd.DataFrame(unknown, index=cells.index)
    for group, pool in pools_of(trials, stage, speed).items():
        own = cells[(cells[GROUP] == group) & (cells["num"] > 0)]
        of_stage = pool.apart[pool.apart.get_level_values("stage") == stage]
        is_apart = own["config"].isin(of_stage.get_level_values("config"))
        more = (own["within"] - pool.within).clip(lower=0).fillna(0.0)
        variance = (pool.variance + more).mask(is_apart, own["variance"])
        spread.loc[own.index, "variance"] = variance
        spread.loc[own.index, "df"] = np.where(is_apart, own["num"] - 1.0, pool.df)
        spread.loc[own.index, "interval"] = np.where(is_apart, OVER_RUNS, pool.label)
    return spread


def speed_cells(rows: pd.DataFrame, keys: "list[pd.Series[Any]]", speed: str) -> pd.DataFrame:
    """Return one row a group of ``keys``, over its runs that have a speed.

    Columns: the number ``known`` of these runs, and for their log speeds the number ``num``, the
    ``mean``, the ``variance`` between runs (NaN for one run) and the mean variance ``within`` runs.
    A group with a figure of 0 or less (no logarithm) has none: the rest would be a selection.
    """
    figure = rows[f"metrics.{speed}"].where(rows[f"metrics.{speed}"] > 0)
    ends = [rows.get(f"metrics.{speed}_within_{end}") for end in ("low", "high")]
    width = np.nan if ends[0] is None or ends[1] is None else ends[1] - ends[0]
    within = (width / (2 * _Z_975 * figure)) ** 2
    logs = pd.DataFrame({"log": np.log(figure), "within": within}, index=rows.index)
    groups = logs.groupby(keys, sort=False, dropna=False)
    log = groups["log"]
    known = rows[f"metrics.{speed}"].groupby(keys, sort=False, dropna=False).count()
    cells = {"mean": log.mean(), "variance": log.var(), "within": groups["within"].mean()}
    num = log.count()
    have_logs = num == known
    return pd.DataFrame(
        {
            "known": known,
            "num": num.where(have_logs, 0),
            **{name: values.where(have_logs) for name, values in cells.items()},
        }
    )


def pool_cells(cells: pd.DataFrame) -> Pool | None:
    """Return the pooled variance of cells with a level ``stage``; None if no cell has two runs."""
    repeated = cells[cells["num"] > 1]
    if repeated.empty:
        return None
    is_apart = _outlying(repeated)
    alike = repeated[~is_apart]
    df = alike["num"] - 1
    known = alike["within"].notna()
    within = np.average(alike["within"][known], weights=df[known]) if known.any() else 0.0
    return Pool(
        variance=max(float(np.average(alike["variance"], weights=df)), float(within)),
        df=int(df.sum()),
        within=float(within),
        num_configs=len(alike),
        stages=tuple(alike.index.get_level_values("stage").unique()),
        apart=repeated.index[is_apart],
    )


def _outlying(repeated: pd.DataFrame) -> npt.NDArray[np.bool_]:
    """Return True for cells with a variance too large for it to be the others'."""
    from scipy.special import fdtrc

    df = (repeated["num"] - 1).to_numpy(dtype=np.float64)
    squares = df * repeated["variance"].to_numpy(dtype=np.float64)
    rest = df.sum() - df
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = (squares / df) / ((squares.sum() - squares).clip(min=0) / rest)
        p_values = np.where(rest > 0, fdtrc(df, rest, ratio), 1.0)
    return np.asarray(p_values < _OUTLYING / len(df), dtype=np.bool_)


def stage_pool(cells: pd.DataFrame, stage: Stage) -> Pool | None:
    """Return the pool for one stage.

    It uses the stage's own repeats if they give :data:`MIN_OWN_DF` degrees of freedom, otherwise
    those of all stages.
    """
    own = pool_cells(cells[cells.index.get_level_values("stage") == stage])
    if own is not None and own.df >= MIN_OWN_DF:
        return own
    wider = pool_cells(cells)
    if wider is None or (own is not None and wider.df <= own.df):
        return own
    return replace(wider, borrowed=tuple(name for name in wider.stages if name != stage))


def pools_of(trials: pd.DataFrame, stage: Stage, speed: str) -> dict[str, Pool]:
    """Return the pool of each group that was repeated, for a stage."""
    pools: dict[str, Pool] = {}
    done = trials[trials["state"] == TrialState.COMPLETED]
    if f"metrics.{speed}" not in done.columns or done.empty:
        return pools
    columns = [c for c in done.columns if c in _NEEDED or c.startswith(f"metrics.{speed}")]
    done, ids = done[columns], config_ids(trials)
    groups = done[GROUP] if GROUP in done.columns else pd.Series(ALL, index=done.index)
    for group, rows in done.groupby(groups, sort=False):
        for some in (rows[~disturbed(rows)], rows):
            pool = stage_pool(speed_cells(some, [ids, speed_stages(some)], speed), stage)
            if pool is not None:
                pools[str(group)] = pool
                break
    return pools


def config_ids(trials: pd.DataFrame) -> "pd.Series[int]":
    """Return a number for each row, the same for rows of one config and group."""
    keys = [*varying_params_of(trials), *([GROUP] if GROUP in trials.columns else [])]
    return trials.groupby(keys, sort=False, dropna=False).ngroup().rename("config")


def disturbed(rows: pd.DataFrame) -> "pd.Series[bool]":
    """Return True for rows of runs with other load on their cores."""
    return tagged(rows, LOAD)


def load_text(rows: pd.DataFrame) -> tuple[int, int, str]:
    """Return how many runs other load disturbed, of how many that were watched, and the words."""
    ran = rows[rows["state"].isin([TrialState.COMPLETED, TrialState.STOPPED])]
    dirty = disturbed(ran)
    watched = int((texts_of(ran, f"tags.{LOAD}") != "").sum())  # "false": nothing was found
    num_dirty = int(dirty.sum())
    share = float(numbers_of(ran[dirty], "metrics.foreign_share").mean())
    others = "" if pd.isna(share) else f", where others took {percent(share)} of their cores' time"
    text = f"{num_dirty} of {counted(watched, 'run')} disturbed{others}"
    reran = tagged(ran, "rerun")
    if in_vain := int((reran & dirty).sum()):
        text += f"; so were {in_vain} of {counted(int(reran.sum()), 'rerun')}"
    return num_dirty, watched, text if watched else "no run was watched for other load"


def shared_a_round(finals: pd.DataFrame) -> "pd.Series[bool]":
    """Return True for rows of the confirm stage that share their round with another config.

    The run that evaluates the test split, and the run that trains the far end of the front, have
    their own repeat: they are compared with nothing.
    """
    configs = finals.groupby(varying_params_of(finals), dropna=False, sort=False).ngroup()
    of_round = configs.groupby(finals["repeat"])
    return of_round.transform("min") < of_round.transform("max")


def counting(rows: pd.DataFrame, keys: "list[pd.Series[Any]]") -> "pd.Series[bool]":
    """Return True for rows that count: clean ones, and all of a group of ``keys`` without any."""
    return preferred(~disturbed(rows), keys)


def preferred(are_good: "pd.Series[bool]", keys: "list[pd.Series[Any]]") -> "pd.Series[bool]":
    """Return True for the good rows, and for all rows of a group of ``keys`` without a good one."""
    return are_good | ~are_good.groupby(keys, sort=False, dropna=False).transform("any")
