"""Cost of the recorded configs: the price of a grid, before it is replayed or run again."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from statistics import fmean

from orchestrator.execution.replay.drawing import Recording, config_key
from orchestrator.trial import Stage


@dataclass(frozen=True, kw_only=True)
class GridCost:
    """The cost of training each recorded config once.

    Attributes:
        num_configs: Configs that were recorded in stage ``train``.
        num_runs: Their runs.
        mean_trial_s: Mean time of a trial, s: over configs, each the mean over its runs. Failed
            and infeasible ones count with what they took.
        core_s: Core-seconds of all configs, each once.
    """

    num_configs: int
    num_runs: int
    mean_trial_s: float
    core_s: float


def grid_cost(recordings: Iterable[Recording], *, cores_per_trial: int) -> GridCost:
    """Return the cost of the grid that the configs of ``recordings`` are.

    Args:
        recordings: The recorded runs.
        cores_per_trial: Cores of each.
    """
    taken: dict[str, list[float]] = defaultdict(list)
    for one in recordings:
        if one.trial.stage is Stage.TRAIN:
            taken[config_key(one.trial.config)].append(one.run.held_s or one.run.wall_s)
    means = [fmean(seconds) for seconds in taken.values()]
    return GridCost(
        num_configs=len(taken),
        num_runs=sum(map(len, taken.values())),
        mean_trial_s=fmean(means) if means else 0.0,
        core_s=cores_per_trial * sum(means),
    )
