"""Tables of a made factored search, and their rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from orchestrator.analysis.composition.compose import compose
from tests.orchestrator.analysis.composition.made_factored import (
    OBJECTIVES,
    ROLES,
    Factory,
    candidates,
)

SPEED, ACCURACY = "metrics.samples_per_s", "metrics.val_acc"


def composed(factory: Factory, configs: list[dict[str, Any]], **changes: object) -> pd.DataFrame:
    arguments = {"candidates": candidates(configs), "roles": ROLES, "objectives": OBJECTIVES}
    return compose(factory.trials, factory.curves, **{**arguments, **changes})  # type: ignore


def row_of(table: pd.DataFrame, **values: object) -> dict[Any, Any]:
    same = np.logical_and.reduce([table[f"params.{n}"] == v for n, v in values.items()])
    (row,) = table[same].to_dict("records")
    return row
