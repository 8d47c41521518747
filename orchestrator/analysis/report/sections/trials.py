"""All trials, those that did not complete, and their number by state."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import pandas as pd

from orchestrator.analysis.columns import (
    by_value,
    config_of,
    flagged,
    metrics_of,
    params_of,
    text_of,
)
from orchestrator.analysis.comparable import GROUP
from orchestrator.analysis.report.tables import (
    Cell,
    Table,
    figure_cell,
    knob_cell,
    measured,
    without_same,
)
from orchestrator.analysis.report.view import View
from orchestrator.analysis.statistics.curves import last_of_curves
from orchestrator.analysis.wording import format_config, telling_knobs
from orchestrator.metric_table import Place, names_shown
from orchestrator.metrics import is_accuracy
from orchestrator.trial import TrialState

GONE_ON = "paused and gone on with"


def gone_on(trials: pd.DataFrame) -> pd.Series[bool]:
    """Return True for trials that were paused and that a later trial of the curve went on with."""
    return (trials["state"] == TrialState.STOPPED) & ~last_of_curves(trials)


def counts_of_states(trials: pd.DataFrame) -> dict[str, int]:
    """Return the number of trials in each state that occurs, by its words.

    A trial that is ``stopped`` is a config that the search has ended, but for one that was paused
    and whose learning curve a later trial went on with: these are counted apart.
    """
    paused = gone_on(trials)
    counts: dict[str, int] = {}
    for state in TrialState:
        counts[state.replace("_", " ")] = int(((trials["state"] == state) & ~paused).sum())
        if state is TrialState.STOPPED:
            counts[GONE_ON] = int(paused.sum())
    return {words: count for words, count in counts.items() if count}


MAX_ROWS: Final = 500
"""A page with more rows is slow to open; ``trials.csv`` has them all."""

_TAGS: Final = ("bound", "contaminated", "oversubscribed")


def trials_table(view: View) -> Table:
    """Return every trial, with the knobs that tell them apart and the figures measured.

    Of more than :data:`MAX_ROWS` those of the front, the baseline and the recommended config, and
    the first of the others. Figures that are no objective are the table's rest.
    """
    trials = _some(view)
    records = trials.to_dict("records")
    knobs = telling_knobs([config_of(row, view.sweep) for row in records], view.sweep)
    knobs = [name for name in knobs if f"params.{name}" in trials.columns]
    first = measured(trials, [o.metric for o in view.objectives])
    rest = [metric for metric in measured(trials, _rest(trials)) if metric not in first]
    groups = [GROUP] if view.trials[GROUP].nunique() > 1 else []
    rows = tuple(
        (
            Cell(text=row["trial_id"], link=view.outputs.get(row["trial_id"], "")),
            Cell(text=row["stage"]),
            Cell(text=row["state"].replace("_", " ")),
            *(knob_cell(row[f"params.{name}"]) for name in knobs),
            *(figure_cell(metric, row[f"metrics.{metric}"]) for metric in first),
            *(Cell(text=row[group]) for group in groups),
            Cell(text=remarks),
            figure_cell("wall_s", row.get("wall_s", float("nan"))),
            *(figure_cell(metric, row[f"metrics.{metric}"]) for metric in rest),
        )
        for row, remarks in zip(records, _remarks(trials), strict=True)
    )
    head = ("trial", "stage", "state", *knobs, *first, *("conditions" for _ in groups), "remarks",
            "wall_s", *rest)  # fmt: skip
    table = Table(
        head=head,
        rows=rows,
        marks=tuple(trials["state"]),
        num_left_out=len(view.trials) - len(rows),
        num_rest=len(rest),
    )
    return without_same(table, among=("stage", "state", *knobs, "remarks"))


def _rest(trials: pd.DataFrame) -> list[str]:
    """Return the figures that are shown, other accuracies that were reported first."""
    names = [column.removeprefix("metrics.") for column in metrics_of(trials)]
    accuracies = [name for name in names if is_accuracy(name)]
    return list(dict.fromkeys([*accuracies, *names_shown(Place.TRIALS)]))


def _some(view: View) -> pd.DataFrame:
    """Return at most :data:`MAX_ROWS` trials, in their order."""
    trials = view.trials
    if len(trials) <= MAX_ROWS:
        return trials
    configs = view.shown
    marked = configs[configs["on_front"] | configs["is_baseline"] | configs["is_recommended"]]
    ids = {trial for some in marked["trial_ids"] for trial in some}
    is_marked = trials["trial_id"].isin(ids).to_numpy()
    places = np.concatenate([np.flatnonzero(is_marked), np.flatnonzero(~is_marked)[:MAX_ROWS]])
    return trials.iloc[np.sort(places[:MAX_ROWS])]


def _remarks(trials: pd.DataFrame) -> list[str]:
    """Return the flags of each trial and the first line of its reason."""
    parts = [by_value(trials["reason"], text_of).str.split("\n").str[0]]
    for name in reversed(_TAGS):
        cells = trials.get(f"tags.{name}")
        if cells is not None:
            words = f"{name}: " + by_value(cells, text_of)
            parts.insert(0, words.where(flagged(cells), ""))
    return ["; ".join(filter(None, words)) for words in zip(*parts, strict=True)]


@dataclass(frozen=True, kw_only=True)
class Lost:
    """Trials without a result that share a reason; ``has_more`` configs than are named.

    ``output`` is the file of what one of them has printed, or "".
    """

    state: str
    reason: str
    count: int
    configs: tuple[str, ...]
    has_more: bool
    output: str = ""


def lost_trials(view: View, *, max_configs: int = 4) -> list[Lost]:
    """Return the trials that did not complete, the most frequent reason first.

    A trial that was paused is none of them if a later one went on with it.
    """
    is_lost = (view.trials["state"] != TrialState.COMPLETED) & ~gone_on(view.trials)
    trials = view.trials[is_lost]
    groups = trials.groupby(["state", "reason"], sort=False, dropna=False)
    lost = [
        _lost(str(state), text_of(reason), rows, view, max_configs)
        for (state, reason), rows in groups
    ]
    return sorted(lost, key=lambda group: -group.count)


def _lost(state: str, reason: str, rows: pd.DataFrame, view: View, max_configs: int) -> Lost:
    configs = rows[params_of(rows)].drop_duplicates()
    named = configs.head(max_configs).to_dict("records")
    return Lost(
        state=state.replace("_", " "),
        reason=reason or _no_reason(state),
        count=len(rows),
        configs=tuple(format_config(config_of(row, view.sweep), view.sweep) for row in named),
        has_more=len(configs) > len(named),
        output=next((o for t in rows["trial_id"] if (o := view.outputs.get(t))), ""),
    )


def _no_reason(state: str) -> str:
    is_stopped = state == TrialState.STOPPED
    return "the search had seen enough" if is_stopped else "no reason recorded"
