"""One figure a config: that of its confirm runs where it has any, else of the searching runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import pandas as pd

from orchestrator.analysis.columns import metrics_of, params_of
from orchestrator.analysis.comparable import GROUP
from orchestrator.analysis.composition.compose import COMPOSED
from orchestrator.analysis.wording import runs_text
from orchestrator.trial import Stage

MEASURED_IN: Final = "measured_in"
"""Column of the stage that a config's speed is of."""

_ENDS: Final = ("_low", "_high", "_within_low", "_within_high")
_RUNS: Final = ("num_runs", "num_all_runs", "interval", "trial_ids", "timed_ids")


def measured_runs_text(row: Mapping[Any, Any], learned: str) -> str:
    """Return the number of runs that a config's figures are of, as ``3 to confirm``.

    Args:
        row: From :func:`with_confirmed`, or without ``measured_in``.
        learned: ``accuracy``, or what else was learned.
    """
    if row.get(MEASURED_IN) != Stage.CONFIRM:
        return runs_text(row, learned)
    evaluated = row["num_all_runs"] or row["num_runs"]
    return f"{runs_text({**row, 'num_all_runs': evaluated}, learned)} to confirm"


def with_confirmed(
    configs: pd.DataFrame, confirmed: pd.DataFrame, speed_column: str
) -> pd.DataFrame:
    """Return the configs with the figures of their confirm runs, which selected nothing.

    A figure that the confirm runs lack stays that of the searching runs. Verdict and front are
    those that selected. The baseline and the recommended config have a row also where only
    confirm runs trained them.

    Args:
        configs: With ``verdict``, ``on_front``, ``is_baseline`` and ``is_recommended``.
        confirmed: Configs of the confirm stage, one row each, with the same marks.
        speed_column: The figure that ``measured_in`` is of.
    """
    shown = configs.assign(**{MEASURED_IN: str(Stage.TRAIN)})
    if confirmed.empty:
        return shown
    keys = [*params_of(configs), GROUP]
    there = configs[keys].assign(row=configs.index).merge(
        confirmed[keys].assign(confirm=confirmed.index), on=keys
    )  # fmt: skip
    new = confirmed.loc[there["confirm"]].set_axis(pd.Index(there["row"]))
    for figure in (c for c in metrics_of(configs) if c in new and not c.endswith(_ENDS)):
        rows = new.index[new[figure].notna()]
        ends = [f"{figure}{end}" for end in _ENDS if f"{figure}{end}" in shown]
        shown.loc[rows, figure] = new.loc[rows, figure]
        for end in ends:
            shown.loc[rows, end] = new.loc[rows, end] if end in new else float("nan")
    timed = new.index[new[speed_column].notna()] if speed_column in new else new.index[:0]
    for column in (c for c in _RUNS if c in new and c in shown):
        # By place: cells may be tuples.
        cells = shown[column].astype("object").to_dict() | new.loc[timed, column].to_dict()
        shown[column] = pd.Series(cells).astype(shown[column].dtype)
    if COMPOSED in shown and "num_all_runs" in new:
        shown.loc[timed.intersection(new.index[new["num_all_runs"] > 0]), COMPOSED] = False
    shown.loc[timed, MEASURED_IN] = str(Stage.CONFIRM)
    alone = confirmed[confirmed["is_baseline"] | confirmed["is_recommended"]]
    alone = alone[~alone.index.isin(there["confirm"])]
    if alone.empty:
        return shown
    alone = alone.assign(verdict="", on_front=False, **{MEASURED_IN: str(Stage.CONFIRM)})
    return pd.concat([shown, alone], ignore_index=True)
