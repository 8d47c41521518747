"""Number of trials by their final state, in words."""

from __future__ import annotations

import pandas as pd

from orchestrator.analysis.statistics.curves import last_of_curves
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
