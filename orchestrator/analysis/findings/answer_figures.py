"""Figures of an answer: the config's and the baseline's, their difference in accuracy, the cost."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pandas as pd

from orchestrator.analysis.columns import numbers_of, rows_of
from orchestrator.analysis.comparable import GROUP
from orchestrator.analysis.recommendation.speedup import Speedup
from orchestrator.analysis.recommendation.starts import OF_EPOCHS
from orchestrator.analysis.rule import MAJORITY_SHARE, Rule, column_of
from orchestrator.analysis.statistics.intervals import is_narrow, mean_interval
from orchestrator.analysis.tables.run_tables import OF_LEARNED, RunTables
from orchestrator.metrics import is_learned
from orchestrator.trial import Stage, TrialState

LEAST_DF: Final = 2
"""Degrees of freedom of a difference in accuracy. A few hundred validation samples give two rounds
the same difference in one case of eight, and with it an interval without a width."""
_MEMORY: Final = ("peak_rss_gib", "peak_gpu_gib")


def named_figures(row: Mapping[Any, Any], rule: Rule) -> dict[str, float]:
    """Return the figures of a row that an answer has, by metric; NaN where one is not known."""
    speed = rule.speed_column
    columns = (
        speed,
        f"{speed}_low",
        f"{speed}_high",
        *(column_of(objective) for objective in (*rule.objectives, rule.accuracy)),
        "metrics.test_" + rule.accuracy.metric.removeprefix("val_"),  # never decides
        MAJORITY_SHARE,
    )
    return {name.removeprefix("metrics."): row.get(name, math.nan) for name in columns}


def row_of(
    tables: RunTables, config: Mapping[str, Any], stage: Stage, group: str
) -> dict[Any, Any]:
    """Return a config's row in a stage and group; figures that it lacks are of its searching runs.

    Learned figures do not depend on the hardware, and may be from the main group. So are the
    numbers of their runs.
    """

    def own(rows: pd.DataFrame, group: str) -> dict[Any, Any]:
        same = rows[rows_of(rows, config) & (rows[GROUP] == group)].head(1)
        cells = (cell for row in same.to_dict("records") for cell in row.items())
        return {n: v for n, v in cells if not str(n).startswith("metrics.") or not pd.isna(v)}

    main = own(tables.configs, tables.main_group)
    row = {name: main[name] for name in main if is_learned(str(name).removeprefix("metrics."))}
    row |= own(tables.configs, group)
    final = own(tables.finals, group) if stage.is_final else {}
    if not final:
        return row
    for end in ("low", "high"):  # of the search
        row.pop(f"{tables.rule.speed_column}_{end}", None)
    if tables.rule.accuracy_column in row and tables.rule.accuracy_column not in final:
        final = {n: cell for n, cell in final.items() if n not in OF_LEARNED}
    return row | final


@dataclass(frozen=True, kw_only=True)
class Difference:
    """A config's accuracy less the baseline's, in the accuracy's own unit.

    Attributes:
        centre: Of the means.
        low: Lower end of the 95 % interval.
        high: Upper end.
        sign: +1 where more is better, -1 where less is.
        tolerance: Differences within it are none.
        selected: True where it is of the runs that selected the config, which flatter it.
    """

    centre: float
    low: float
    high: float
    sign: float = 1.0
    tolerance: float = 0.0
    selected: bool = False

    @property
    def way(self) -> int:
        """1 if the config is shown to be more accurate, -1 if less accurate, 0 if neither is."""
        low, high = sorted((self.sign * self.low, self.sign * self.high))
        return (low > 0) - (high < 0)

    @property
    def is_none(self) -> bool:
        """True if the two are shown to be as accurate within the tolerance."""
        return -self.tolerance <= self.low and self.high <= self.tolerance


def accuracy_difference(tables: RunTables, config: Mapping[str, Any]) -> Difference | None:
    """Return the difference of a config from the baseline; None where it is not known.

    From three rounds of the confirm stage that have both accuracies, or more: a paired t interval,
    since the runs of a round have one seed. Otherwise from the searching runs, of four seeds of the
    two or more: a t interval with their pooled variance; two runs of one seed are one. Contaminated
    runs count, since other load changes no accuracy. None if the interval is as wide as half of the
    accuracy.
    """
    rule, both = tables.rule, (config, tables.sweep.baseline)
    rows, column = tables.final_rows, rule.accuracy_column
    done = rows[(rows["state"] == TrialState.COMPLETED) & rows[column].notna()]
    ours, theirs = (done[rows_of(done, of)].groupby("repeat")[column].mean() for of in both)
    rounds = (ours - theirs).dropna()
    is_paired = len(rounds) > LEAST_DF
    if is_paired:
        mean, interval = float(theirs[rounds.index].mean()), mean_interval(rounds.to_numpy())
    else:
        searched, reference = (_searched(tables, of) for of in both)
        counts = len(searched), len(reference)
        if not all(counts) or sum(counts) - 2 < LEAST_DF:
            return None
        mean, interval = float(reference.mean()), mean_interval(searched, reference)
    centre, low, high = interval
    if math.isnan(low) or (mean > 0 and not is_narrow(mean + low, mean + high)):
        return None
    return Difference(
        centre=centre,
        low=low,
        high=high,
        sign=rule.accuracy.sign,
        tolerance=(rule.accuracy.tolerance or 0.0) * (abs(mean) if rule.accuracy.relative else 1),
        selected=not is_paired,
    )


def _searched(tables: RunTables, config: Mapping[str, Any]) -> npt.NDArray[np.float64]:
    """Return a config's accuracy by seed of the search; without any, its combination's."""
    rows, column = tables.searched, tables.rule.accuracy_column
    done = rows[(rows["stage"] == Stage.TRAIN) & (rows["state"] == TrialState.COMPLETED)]
    own = done[rows_of(done, config)]
    if own.empty:
        own = done[rows_of(done, tables.learning_of(config))]
    accuracies = own.groupby("seed", dropna=False)[column].mean().dropna()
    return accuracies.to_numpy(dtype=np.float64)


def cost_of_run(
    tables: RunTables, row: Mapping[Any, Any], baseline: Mapping[Any, Any], speedup: Speedup | None
) -> dict[str, float]:
    """Return the cost of a run by name, each figure where it is known.

    Args:
        tables: The run.
        row: The row of the config's figures; {} without a config.
        baseline: The row of the baseline's.
        speedup: The speed-up of the config.

    Returns:
        ``search_s``, wall time of all trials; ``search_core_hours``; ``saved_s_per_epoch``, of
        the baseline's epoch by the speed-up where that leads; ``epochs_to_pay``, until ``search_s``
        is saved; ``peak_rss_gib`` and ``peak_gpu_gib`` of the config, and ``baseline_*`` of these.
    """
    walls, cores = (numbers_of(tables.trials, name) for name in ("wall_s", "cores"))
    took, core_s = (each.sum(min_count=1) for each in (walls, walls * cores))
    costs = {"search_s": took, "search_core_hours": core_s / 3600}
    is_of_epochs = tables.rule.speed.metric in OF_EPOCHS
    if is_of_epochs and speedup is not None and speedup.leads and speedup.ratio is not None:
        saved = baseline.get("metrics.epoch_s", math.nan) * (1 - 1 / speedup.ratio)
        costs["saved_s_per_epoch"] = saved
        if saved > 0:
            costs["epochs_to_pay"] = took / saved
    for start, of in (("", row), ("baseline_", baseline if row else {})):
        costs |= {f"{start}{name}": of.get(f"metrics.{name}") or math.nan for name in _MEMORY}
    return {name: float(cost) for name, cost in costs.items() if not pd.isna(cost)}
