"""Groups of rows that may be ranked together: those measured under the same conditions.

A speed depends on the machine as much as on the config. A condition that the sweep varies as a knob
is what the sweep studies, and separates no rows.
"""

from typing import Final

import pandas as pd

from orchestrator.analysis.columns import texts_of
from orchestrator.formats import counted
from orchestrator.storage.sweep_record import SweepRecord
from orchestrator.trial import SEARCHING, Isolation, Stage, TrialState

GROUP: Final = "group"
"""Column that names the conditions of a row."""

CONDITIONS: Final = {
    "device": "device",
    "cores": "cores",
    "tags.cpu_model": "cpu_model",
    "tags.clocks": "clocks",
    "tags.gpu_settings": "gpu_settings",
    "tags.allocator": "allocator",
    "tags.versions": "versions",
}
"""Columns that a speed depends on, each with the name of the knob that would vary it."""

OF_PROCESS: Final = ("tags.threads", "tags.deterministic")
"""Columns of the settings that a training process had when it ended. They follow from its config:
within a run they separate no rows, and one config has the same settings in two runs."""

CO_LOCATION: Final = "trials"
ISOLATED: Final = "isolated"
CO_LOCATED: Final = "co-located"
_CO_LOCATIONS: Final = {
    str(Isolation.EXCLUSIVE): ISOLATED,
    str(Isolation.LEASED): CO_LOCATED,
    str(Isolation.SHARED): "on shared cores",
}
"""A row's trial was the only one on its node, or with others on other cores, or on the same."""

ALL: Final = "all"


def co_location_of(trials: pd.DataFrame) -> "pd.Series[str]":
    """Return :data:`ISOLATED`, :data:`CO_LOCATED`, ... or ``""`` if the row does not record it."""
    return texts_of(trials, "isolation").map(_CO_LOCATIONS).fillna("")


def speed_stages(trials: pd.DataFrame) -> "pd.Series[str]":
    """Return the stage that each row's speed counts for: ``train`` for a co-located probe."""
    return trials["stage"].mask(probed_co_located(trials), str(Stage.TRAIN))


def probed_co_located(trials: pd.DataFrame) -> "pd.Series[bool]":
    """Return True for co-located probes: only the interference check has them."""
    return (trials["stage"] == Stage.PROBE) & (co_location_of(trials) == CO_LOCATED)


def with_groups(trials: pd.DataFrame, sweep: SweepRecord) -> pd.DataFrame:
    """Return the table with a column ``group``: rows of one group may be ranked together.

    A group is named by the conditions that differ within the run, ``"all"`` if none differs.
    Rows that never ran have no conditions and belong to the first group.
    """
    columns = {
        column: texts_of(trials, column)
        for column, knob in CONDITIONS.items()
        if column in trials.columns and knob not in sweep.space
    }
    if "device" in columns:  # its kinds: the number of GPUs is a config's choice
        columns["device"] = columns["device"].map(lambda d: ", ".join(sorted({*d.split(", ")})))
    co_location = co_location_of(trials)
    trained = co_location[(trials["stage"] == Stage.TRAIN) & (co_location != "")]
    if trained.nunique() > 1:  # it separates rows only where trials were trained both ways
        columns[CO_LOCATION] = co_location
    conditions = pd.DataFrame(columns, index=trials.index)
    ran = (conditions != "").any(axis=1)
    differing = conditions.loc[ran, conditions[ran].nunique() > 1]
    if differing.empty:
        return trials.assign(**{GROUP: ALL})
    heads = [str(column).removeprefix("tags.") for column in differing.columns]
    rows = differing.itertuples(index=False, name=None)
    texts = [
        "; ".join(f"{h} {t or 'unknown'}" for h, t in zip(heads, r, strict=True)) for r in rows
    ]
    names = pd.Series(texts, index=differing.index)
    return trials.assign(**{GROUP: names.reindex(trials.index, fill_value=names.iloc[0])})


def main_group(grouped: pd.DataFrame) -> str:
    """Return the group that configs are recommended from: the one with the most searching runs.

    Completed runs are counted, or all runs if none completed. In a tie the first group counts.
    """
    searched = grouped[grouped["stage"].isin(SEARCHING) & ~probed_co_located(grouped)]
    completed = searched[searched["state"] == TrialState.COMPLETED]
    counts = (searched if completed.empty else completed)[GROUP].value_counts(sort=False)
    return str(counts.idxmax()) if len(counts) else ALL


def group_notes(grouped: pd.DataFrame, main: str) -> list[str]:
    """Describe the runs outside the main group, which are not ranked with it."""
    done = grouped[grouped["state"] == TrialState.COMPLETED]
    others = done.loc[done[GROUP] != main, GROUP].value_counts(sort=False)
    return [
        f"{counted(count, 'trial')} completed under other conditions ({name}); their speeds are "
        f"not ranked with those of {main}"
        for name, count in others.items()
    ]
