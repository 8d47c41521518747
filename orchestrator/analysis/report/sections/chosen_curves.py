"""The learning curves that are drawn: the ones singled out, and some of the others."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pandas as pd

from orchestrator.analysis.columns import configs_of, params_of, rows_of
from orchestrator.analysis.report.view import View
from orchestrator.analysis.statistics.time_to_accuracy import CLOCK, WHOLE_CLOCK
from orchestrator.analysis.wording import format_config
from orchestrator.trial import Stage

MAX_OTHERS: Final = 20
"""Of the trials that nothing singles out as many are drawn; of those on the front, too."""
SAMPLES: Final = "samples"


KINDS: Final = ("other trials", "on the front", "baseline", "recommended")
"""Kinds of lines; the last is drawn on top."""

Places = npt.NDArray[np.intp]
Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, kw_only=True)
class Curves:
    """The reports that are drawn.

    Attributes:
        reports: One row a report with an accuracy: ``trial_id``, ``kind``, ``config``, ``clock_s``,
            ``samples`` and the accuracy, by trial and time.
        column: The accuracy's column.
        clock: The column that ``clock_s`` is read from.
        num_trials: Trials of each kind that there are, by its word.
    """

    reports: pd.DataFrame
    column: str
    clock: str
    num_trials: dict[str, int]


def drawn_curves(view: View) -> Curves | None:
    """Return the curves of stage ``train`` that are drawn; None where none has two reports.

    A report is drawn by the time in training epochs where all trials report it, so that evaluating
    often makes no config look slow; else by the time since the trial's process began.
    """
    column = view.rule.accuracy_column
    if column not in view.curves.columns:
        return None
    train = view.trials[view.trials["stage"] == Stage.TRAIN].reset_index(drop=True)
    # The place of each report's trial in the table: of very many trials texts are slow to compare.
    places = pd.Index(train["trial_id"]).get_indexer(pd.Index(view.curves["trial_id"]))
    figures = view.curves[column].to_numpy(dtype=np.float64)
    is_known = (places >= 0) & np.isfinite(figures)
    is_curve = np.bincount(places[is_known], minlength=len(train)) > 1
    if not is_curve.any():
        return None
    last = np.full(len(train), np.nan)
    last[places[is_known]] = figures[is_known]
    kinds = np.where(is_curve, _kinds(view, train), "")
    kept = np.zeros(len(train), dtype=np.bool_)
    for kind in KINDS:
        kept[_some(np.flatnonzero(kinds == kind), last)] = True
    is_drawn = is_known & kept[places]
    reports, places = view.curves[is_drawn], places[is_drawn]
    clock = CLOCK if CLOCK in reports and reports[CLOCK].notna().all() else WHOLE_CLOCK
    labels = _labels(view, train[kept])
    reports = reports.assign(
        clock_s=reports[clock],
        kind=kinds[places],
        config=[labels[place] for place in places],
    ).sort_values(["trial_id", "clock_s"], kind="stable")
    columns = ["trial_id", "kind", "config", "clock_s", SAMPLES, column]
    return Curves(
        reports=reports[columns].reset_index(drop=True),
        column=column,
        clock=clock,
        num_trials={kind: int((kinds == kind).sum()) for kind in KINDS if (kinds == kind).any()},
    )


def _kinds(view: View, train: pd.DataFrame) -> npt.NDArray[np.str_]:
    """Return the word of each trial's line."""
    front = view.all_configs[view.all_configs["on_front"]]
    tests = [
        _of_config(train, view.findings.config) | _of_curves(view, train, "is_recommended"),
        _of_config(train, view.sweep.baseline) | _of_curves(view, train, "is_baseline"),
        _among(train, front["trial_ids"]),
    ]
    return np.select(tests, KINDS[:0:-1], KINDS[0])


def _some(places: Places, last: npt.NDArray[np.float64]) -> Places:
    """Return all trials of a kind, or :data:`MAX_OTHERS` of them, evenly by their last figure."""
    if len(places) <= MAX_OTHERS:
        return places
    ordered = places[np.argsort(last[places], kind="stable")]
    chosen: Places = ordered[np.linspace(0, len(ordered) - 1, MAX_OTHERS).round().astype(np.intp)]
    return chosen


def _labels(view: View, train: pd.DataFrame) -> dict[Any, str]:
    configs = configs_of(train[params_of(train)], view.sweep)
    labels = [format_config(config, view.sweep) for config in configs]
    return dict(zip(train.index, labels, strict=True))


def _of_curves(view: View, train: pd.DataFrame, mark: str) -> Mask:
    """Return True for the curves that the accuracy of a composed config is from."""
    if not view.num_candidates or "curve_ids" not in view.all_configs.columns:
        return np.zeros(len(train), dtype=np.bool_)
    return _among(train, view.all_configs.loc[view.all_configs[mark], "curve_ids"])


def _of_config(train: pd.DataFrame, config: Mapping[str, Any] | None) -> Mask:
    if config is None:
        return np.zeros(len(train), dtype=np.bool_)
    return rows_of(train, config).to_numpy(dtype=np.bool_)


def _among(train: pd.DataFrame, ids: Iterable[Sequence[str]]) -> Mask:
    """Return True for the trials that some configs have."""
    wanted = [trial for some in ids for trial in some]
    places = pd.Index(train["trial_id"]).get_indexer(pd.Index(wanted, dtype="str"))
    among = np.zeros(len(train), dtype=np.bool_)
    among[places[places >= 0]] = True
    return among
