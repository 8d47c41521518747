"""Durations and cores of a sweep's trials as expected beforehand, for its budgets."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from orchestrator.trial import Budget

MARGIN: Final = 1.1
"""Part kept back for the confirm stage over what is expected of it: runs differ in length."""

LEAST_CONFIGS: Final = 2
"""Configs that a search must have room for, or nothing is kept back: a baseline and another one."""

Config = Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class Expectation:
    """Durations and cores of a sweep's trials as expected before any has run.

    Attributes:
        num_cores: Cores of each.
        num_gpus: Returns the GPUs of a config.
        budget: Budget of a whole training.
        trial_s: Seconds that one holds its cores for, or None where that is not known.
        baseline: The baseline's config.
        confirm: Rounds of the confirm stage at its first interim analysis; 0: no such stage.
        confirm_share: Time of its runs that are compared, as a share of a whole training's.
        finalists: Most configs in it beside the baseline.
        num_configs: Configs that the search would train, or None.
    """

    num_cores: int
    budget: Budget
    baseline: Config
    num_gpus: Callable[[Config], int] = lambda config: 0
    trial_s: float | None = None
    confirm: int = 0
    confirm_share: float = 1.0
    finalists: int = 1
    num_configs: int | None = None
