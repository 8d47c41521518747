"""The noise floor of a run: the difference of the baseline from itself.

A claimed speed-up must exceed the difference between runs of one config. The floor is raw on
purpose, without a model: the largest ratio between any two runs of the baseline in one stage.
For means over several runs it is the part that remains after averaging. It leaves out what
interleaved confirm runs of a round have in common.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any, Final

import numpy as np
import pandas as pd

from orchestrator.analysis.columns import rows_of
from orchestrator.analysis.comparable import GROUP, probed_co_located
from orchestrator.analysis.rule import Rule
from orchestrator.analysis.statistics.intervals import is_narrow
from orchestrator.analysis.statistics.pooling import config_ids, contaminated, were_interleaved
from orchestrator.analysis.statistics.rounds import level_of_looks
from orchestrator.analysis.wording import MOST_FACTOR
from orchestrator.formats import counted, percent
from orchestrator.search.stages.judge import InterimAnalyses
from orchestrator.sweep.rigor import Rigor
from orchestrator.trial import Stage, TrialState

DIFFERENCE: Final = 0.05
"""A difference that should be shown."""

_POWER: Final = 0.8
"""Share of cases in which it should be shown."""

_MOST_PAIRS: Final = 50
_STAGES: Final = (Stage.CONFIRM, Stage.TRAIN, Stage.PROBE)


@dataclass(frozen=True, kw_only=True)
class NoiseFloor:
    """Difference between runs of the baseline, within one stage.

    Attributes:
        stage: The stage of the runs; ``confirm`` if the baseline was repeated there.
        num_runs: Number of these runs, two at least.
        largest_ratio: Largest ratio of the speeds of two of these runs, faster over slower.
        cv: Coefficient of variation of their speeds.
        num_left_out: Contaminated runs of the stage that are not among these.
        interleaved: True if they were interleaved with others; then the common part of a round is
            left out.
    """

    stage: Stage
    num_runs: int
    largest_ratio: float
    cv: float
    num_left_out: int = 0
    interleaved: bool = False

    def covers(self, ratio: float | None, *, num_runs: int) -> bool:
        """Return True if a speed-up (or a loss) is no larger than the floor.

        The floor of means falls with the root of the number of runs.

        Args:
            ratio: Ratio of the two means.
            num_runs: Number of runs of each config in these means; of none nothing is claimed.
        """
        if ratio is None or not num_runs:
            return False
        return abs(math.log(ratio)) <= math.log(self.largest_ratio) / math.sqrt(num_runs)

    @property
    def is_known(self) -> bool:
        """True if the runs are close enough to each other for the machine to have one speed."""
        return is_narrow(1.0, self.largest_ratio)

    @property
    def text(self) -> str:
        """The floor in a sentence."""
        left_out = counted(self.num_left_out, "contaminated run")
        beside = f"; {left_out} left out" if self.num_left_out else ""
        kind = f"{'interleaved ' * self.interleaved}{self.stage} run"
        start = f"{counted(self.num_runs, kind)} of the baseline differ from each other by"
        if not self.is_known:
            return f"{start} more than a factor of {MOST_FACTOR:g}: too much to tell configs apart"
        return (
            f"{start} up to {percent(self.largest_ratio - 1, digits=1)} (coefficient of variation "
            f"{percent(self.cv, digits=1)}{beside})"
        )

    @property
    def repeats_text(self) -> str:
        """The difference that is shown at this noise, in a sentence."""
        pairs = pairs_needed(self.cv)
        needs = f"more than {_MOST_PAIRS}" if pairs is None else f"{pairs}"
        return (
            f"at this spread a difference of {percent(DIFFERENCE)} is shown in four of five cases "
            f"with {needs} pairs of confirm runs"
        )

    def to_json(self) -> dict[str, Any]:
        """Return the content for ``recommended.json``."""
        return {
            "stage": str(self.stage),
            "num_runs": self.num_runs,
            "largest_ratio": self.largest_ratio,
            "cv": self.cv,
            "pairs_needed_for_5_percent": pairs_needed(self.cv),
            "text": self.text,
        }


def noise_floor(
    grouped: pd.DataFrame, baseline: Mapping[str, Any], rule: Rule
) -> NoiseFloor | None:
    """Return the noise floor of a run; None if the baseline ran once in every stage.

    It covers the conditions under which the baseline ran most often. Contaminated runs count only
    if no stage has two clean ones.

    Args:
        grouped: The trials, with the ``group`` of comparable rows.
        baseline: The sweep's baseline.
        rule: The rule, for the speed that is examined.
    """
    is_known = (grouped["state"] == TrialState.COMPLETED) & (grouped[rule.speed_column] > 0)
    done = grouped[is_known & ~probed_co_located(grouped)]
    own = done[rows_of(done, baseline)]
    if own.empty:
        return None
    if (levels := _interleaved(done, baseline, rule)) is not None:
        confirmed = own[(own["stage"] == Stage.CONFIRM) & were_interleaved(own)]
        return _floor(Stage.CONFIRM, levels, len(confirmed), interleaved=True)
    runs = own[own[GROUP] == own[GROUP].value_counts(sort=False).idxmax()]
    for some, stage in product((runs[~contaminated(runs)], runs), _STAGES):
        speeds = some.loc[some["stage"] == stage, rule.speed_column]
        if len(speeds) > 1:
            return _floor(stage, np.log(speeds), int((runs["stage"] == stage).sum()))
    return None


def _interleaved(
    done: pd.DataFrame, baseline: Mapping[str, Any], rule: Rule
) -> pd.Series[float] | None:
    """Return the level of each interleaved confirm run; None without two clean rounds of two.

    It uses a run's logarithm less the mean of its round. With k configs of equal noise this keeps
    1 - 1/k of the variance; the result is corrected for it.
    """
    runs = done[(done["stage"] == Stage.CONFIRM) & were_interleaved(done)]
    runs = runs[~contaminated(runs)]
    own = runs[rows_of(runs, baseline)]
    if own.empty:
        return None
    runs = runs[runs[GROUP] == own[GROUP].mode().iloc[0]]
    ids = config_ids(runs)
    number = ids[rows_of(runs, baseline)].iloc[0]
    logs = np.log(runs[rule.speed_column]).groupby([runs["repeat"], ids]).mean().unstack()
    logs = logs[logs[number].notna()].dropna(axis="columns")
    num_rounds, num_configs = logs.shape
    if num_rounds < 2 or num_configs < 2:
        return None
    levels: pd.Series[float] = logs[number] - logs.mean(axis="columns")
    return levels * math.sqrt(num_configs / (num_configs - 1))


def _floor(
    stage: Stage, logs: pd.Series[Any], num_all: int, *, interleaved: bool = False
) -> NoiseFloor:
    return NoiseFloor(
        stage=stage,
        num_runs=len(logs),
        largest_ratio=float(np.exp(np.ptp(logs))),
        cv=float(np.sqrt(np.expm1(logs.var(ddof=1)))),
        num_left_out=num_all - len(logs),
        interleaved=interleaved,
    )


def pairs_needed(cv: float) -> int | None:
    """Return the pairs with which a paired t test shows :data:`DIFFERENCE`; None past fifty.

    In four of five cases, by the noncentral t distribution. The test is the last interim analysis
    of the default rounds; see :mod:`orchestrator.search.stages.judge`.

    Args:
        cv: Coefficient of variation of a run's speed, the same for both configs.
    """
    from scipy.special import nctdtr, stdtrit

    if cv == 0:
        return 2
    rigor = Rigor()
    level = level_of_looks(InterimAnalyses(first=rigor.confirm, last=rigor.max_confirm).at, 1)
    for num_pairs in range(2, _MOST_PAIRS + 1):
        error = math.sqrt(2 * math.log1p(cv**2) / num_pairs)
        quantile = stdtrit(num_pairs - 1, 1 - level / 2)
        # The far tail is left out.
        if 1 - float(nctdtr(num_pairs - 1, math.log1p(DIFFERENCE) / error, quantile)) >= _POWER:
            return num_pairs
    return None
