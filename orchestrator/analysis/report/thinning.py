"""The configs that are drawn of very many: those that matter, and an even sample of the others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pandas as pd

from orchestrator.analysis.statistics.against_best import Verdict

MAX_DRAWN: Final = 5000
"""Of more configs not all are drawn; the tables of the run have them."""

_CELLS: Final = 64
"""Cells of the grid along each axis."""

_CONTENDERS: Final = (Verdict.BEST, Verdict.TIED, Verdict.UNRESOLVED)


def thinned(configs: pd.DataFrame, axes: Sequence[str], *, seed: int, most: int) -> pd.DataFrame:
    """Return the configs in their order, or some of them where they are more than ``most``.

    The front, the baseline and the recommended config always stay. Contenders (not shown to be
    slower than the best) fill half of what is left, the others the rest. Of each kind one config
    a cell of a grid over ``axes`` is taken in turn, so that no crowd hides a sparse region.

    Args:
        configs: With ``on_front``, ``is_baseline``, ``is_recommended`` and ``verdict``.
        axes: Columns of the figures that they are drawn by.
        seed: Of the draw within a cell.
        most: Number of configs that stay, unless more are always kept.
    """
    if len(configs) <= most:
        return configs
    always = (configs["on_front"] | configs["is_baseline"] | configs["is_recommended"]).to_numpy()
    is_contender = configs["verdict"].isin(_CONTENDERS).to_numpy() & ~always
    turn = _turns(_cells(configs, axes), seed)
    kept = always.copy()
    left = max(most - int(kept.sum()), 0)
    kept[_first(turn, is_contender, left // 2)] = True
    left = max(most - int(kept.sum()), 0)
    kept[_first(turn, ~is_contender & ~always, left)] = True
    return configs[kept]


def _first(turn: npt.NDArray[np.intp], among: npt.NDArray[np.bool_], number: int) -> Any:  # noqa: ANN401
    """Return the places of the ``number`` rows whose turn comes first."""
    places = np.flatnonzero(among)
    return places[np.argsort(turn[places], kind="stable")[:number]]


def _cells(configs: pd.DataFrame, axes: Sequence[str]) -> npt.NDArray[np.intp]:
    """Return the cell of each config; a missing figure has cells of its own."""
    cells = np.zeros(len(configs), dtype=np.intp)
    for axis in axes:
        values = configs[axis].to_numpy(dtype=np.float64)
        low, high = np.nanmin(values, initial=np.inf), np.nanmax(values, initial=-np.inf)
        width = (high - low) / _CELLS if high > low else 1.0
        known = np.isfinite(values)
        place = np.full(len(values), _CELLS + 1, dtype=np.intp)
        place[known] = ((values[known] - low) / width).astype(np.intp)
        cells = cells * (_CELLS + 2) + place
    return cells


def _turns(cells: npt.NDArray[np.intp], seed: int) -> npt.NDArray[np.intp]:
    """Return the number of rows of the same cell that come before each row, in a drawn order."""
    drawn = np.random.default_rng(seed).permutation(len(cells))
    before = pd.Series(cells[drawn]).groupby(cells[drawn]).cumcount().to_numpy()
    turns = np.empty(len(cells), dtype=np.intp)
    turns[drawn] = before
    return turns
