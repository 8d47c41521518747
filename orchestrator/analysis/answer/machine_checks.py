"""Checks of the machine: other load, drift, interference and the noise of its runs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

import pandas as pd

from orchestrator.analysis.columns import text_of
from orchestrator.analysis.recommendation.recommend import Recommendation
from orchestrator.analysis.statistics.pooling import contaminated
from orchestrator.analysis.tables.run_tables import RunTables
from orchestrator.analysis.wording import MOST_FACTOR, counted, percent
from orchestrator.trial import TrialState

BUSY_SHARE: Final = 0.25
"""A machine is busy where other load disturbed at least this share of the runs."""
_FOREIGN: Final = "metrics.foreign_share"


class Health(StrEnum):
    """Result of a check of the run's figures."""

    PASS = "pass"
    WARNING = "warning"
    UNKNOWN = "not known"


@dataclass(frozen=True, kw_only=True)
class Check:
    """One check of what the figures rest on: noise floor, contamination, drift, edge of range.

    Attributes:
        name: Two or three words.
        health: How it went.
        text: A short sentence with the figure.
    """

    name: str
    health: Health
    text: str


@dataclass(frozen=True, kw_only=True)
class _OtherLoad:
    """Runs that other load disturbed, among those that were watched for it."""

    disturbed: int
    watched: int
    foreign_share: float

    @classmethod
    def of(cls, trials: pd.DataFrame) -> _OtherLoad:
        ran = trials[trials["state"].isin([TrialState.COMPLETED, TrialState.STOPPED])]
        dirty = contaminated(ran)
        shares = ran.get(_FOREIGN, pd.Series(float("nan"), index=ran.index))
        tags = ran.get("tags.contaminated", pd.Series("", index=ran.index))
        watched = tags.map(text_of) != ""  # "false" where nothing was found
        return cls(
            disturbed=int(dirty.sum()),
            watched=int(watched.sum()),
            foreign_share=float(shares[dirty].mean()),
        )

    @property
    def where(self) -> str:
        """The mean load of others on the cores of disturbed runs, or ""."""
        if pd.isna(self.foreign_share):
            return ""
        return f", where others took {percent(self.foreign_share)} of their cores' time"


def busy_machine(tables: RunTables) -> str:
    """Return a sentence on a machine that was busy with something else, with its figures; or ""."""
    load = _OtherLoad.of(tables.trials)
    if not load.watched or load.disturbed < BUSY_SHARE * load.watched:
        return ""
    return (
        f"Other load disturbed {load.disturbed} of {counted(load.watched, 'run')}{load.where}: "
        "run the sweep again when the machine is idle"
    )


def other_load(tables: RunTables) -> Check:
    """Return how many runs other load disturbed."""
    load, name = _OtherLoad.of(tables.trials), "other load"
    if not load.watched:
        return Check(name=name, health=Health.UNKNOWN, text="no run was watched for other load")
    text = f"{load.disturbed} of {counted(load.watched, 'run')} disturbed{load.where}"
    return Check(name=name, health=Health.WARNING if load.disturbed else Health.PASS, text=text)


def drift_check(recommendation: Recommendation) -> Check:
    """Return whether the machine became faster or slower."""
    drift = recommendation.drift
    if drift is None:
        text = "too few configs were repeated to tell"
        return Check(name="drift", health=Health.UNKNOWN, text=text)
    if not drift.is_known:
        text = f"not known: the interval spans more than a factor of {MOST_FACTOR:g}"
        return Check(name="drift", health=Health.UNKNOWN, text=text)
    change = f"{100 * drift.change:+.1f} %"
    is_large = drift.is_significant and abs(drift.change) > recommendation.rule.tie_margin
    return Check(
        name="drift",
        health=Health.WARNING if is_large else Health.PASS,
        text=f"speeds changed by {change}" if drift.is_significant else f"none shown ({change})",
    )


def interference_check(tables: RunTables, recommendation: Recommendation) -> Iterator[Check]:
    """Return what co-located trials lose, where that was looked at."""
    effect = recommendation.interference
    if effect is None:
        if tables.why_no_interference:
            text = "not known: the check's trials were over before others ran beside them"
            yield Check(name="interference", health=Health.UNKNOWN, text=text)
        return
    if not effect.is_known:
        text = f"not known: the interval spans more than a factor of {MOST_FACTOR:g}"
        yield Check(name="interference", health=Health.UNKNOWN, text=text)
        return
    shown = f"co-located trials have {percent(effect.ratio)} of the isolated speed"
    yield Check(
        name="interference",
        health=Health.WARNING if effect.is_shown and not effect.acted_on else Health.PASS,
        text=shown if effect.is_shown else f"not shown ({percent(effect.ratio)})",
    )


def noise_check(recommendation: Recommendation) -> Check:
    """Return what the baseline's own runs differ by."""
    noise, speedup = recommendation.noise, recommendation.speedup
    name = "noise floor"
    if noise is None:
        return Check(name=name, health=Health.UNKNOWN, text="the baseline was not repeated")
    if not noise.is_known:
        text = f"runs of the baseline differ by more than a factor of {MOST_FACTOR:g}"
        return Check(name=name, health=Health.WARNING, text=text)
    within = speedup is not None and speedup.is_within(noise)
    text = f"runs of the baseline differ by up to {percent(noise.largest_ratio - 1, digits=1)}"
    return Check(
        name=name,
        health=Health.WARNING if within else Health.PASS,
        text=f"{text}: the speed-up is within it" if within else text,
    )
