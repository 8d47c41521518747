"""The setting and the learning combination of each row, as numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import pandas as pd

from orchestrator.analysis.columns import params_of
from orchestrator.space.knob import Role

SETTING: Final = "params.setting"
"""Column of a number that is the same for configs whose steps take as long."""
COMBINATION: Final = "params.combination"
"""Column of a number that is the same for configs that learn alike."""
CONFIG: Final = "params.config"
"""Column of a number that is the same for equal configs."""

KEYS: Final = (SETTING, COMBINATION, CONFIG)

_ROLES: Final = {
    SETTING: (Role.SYSTEMS, Role.BOTH),
    COMBINATION: (Role.LEARNING, Role.BOTH),
    CONFIG: tuple(Role),
}


def with_keys(
    trials: pd.DataFrame, candidates: pd.DataFrame, roles: Mapping[str, Role]
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return both tables with the columns :data:`KEYS`, which have one meaning in the two.

    Args:
        trials: The trials, with a ``params.`` column for each knob.
        candidates: Configs, with the same columns.
        roles: Role of each knob.
    """
    columns = [name for name in params_of(trials) if name in candidates.columns]
    like_trials = candidates.astype({name: trials[name].dtype for name in columns})
    both = pd.concat([trials[columns], like_trials[columns]], ignore_index=True)
    keys = {key: _numbers(both, of, roles).to_numpy() for key, of in _ROLES.items()}
    return (
        trials.assign(**{key: values[: len(trials)] for key, values in keys.items()}),
        like_trials.assign(**{key: values[len(trials) :] for key, values in keys.items()}),
    )


def _numbers(
    configs: pd.DataFrame, of: tuple[Role, ...], roles: Mapping[str, Role]
) -> pd.Series[int]:
    deciding = [name for name in configs.columns if roles[name.removeprefix("params.")] in of]
    if not deciding:
        return pd.Series(0, index=configs.index)
    return configs.groupby(deciding, sort=False, dropna=False).ngroup()
