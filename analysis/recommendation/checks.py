"""Health checks: what the figures of a run rest on, each with its figure, the gravest first."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

import pandas as pd

from analysis.columns import Config
from analysis.recommendation.boundary import at_boundary
from analysis.recommendation.one_class import one_class
from analysis.recommendation.recommend import Recommendation
from analysis.statistics.intervals import MOST_FACTOR, is_narrow
from analysis.statistics.pooling import contaminated
from analysis.tables.run_tables import RunTables
from analysis.wording import counted, percent
from orchestrator.trial import TrialState

BUSY_SHARE: Final = 0.25
"""A machine is busy where other load disturbed at least this share of the runs."""
_FOREIGN: Final = "metrics.foreign_share"


class Health(StrEnum):
    """How a check of the run's figures went."""

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


def checks_of(tables: RunTables, recommendation: Recommendation) -> tuple[Check, ...]:
    """Return the checks of a run: warnings first, then what is not known, then what is in order.

    Among the same kind the gravest comes first.
    """
    order = [Health.WARNING, Health.UNKNOWN, Health.PASS]
    config = recommendation.config
    checks = [
        *_replay(tables),
        _data(tables),
        *(_one_class(tables, config) if config is not None else ()),
        _contamination(tables),
        *_composed(tables, recommendation),
        _drift(recommendation),
        *_interference(recommendation),
        _noise(recommendation),
        *(_edges(tables, config) if config is not None else ()),
        _lost(tables),
    ]
    return tuple(sorted(checks, key=lambda check: order.index(check.health)))


def busy_machine(tables: RunTables) -> str:
    """Return a sentence on a machine that was busy with something else, with its figures; or ""."""
    disturbed, known = _disturbed(tables.trials)
    if not known or disturbed < BUSY_SHARE * known:
        return ""
    return (
        f"Other load disturbed {disturbed} of {counted(known, 'run')}{_foreign(tables.trials)}. "
        "Speeds are those of a busy machine: run the sweep again when it is idle"
    )


def _replay(tables: RunTables) -> Iterator[Check]:
    if tables.sweep.replayed:
        text = f"recorded runs of {tables.sweep.replayed}: nothing was measured"
        yield Check(name="replay", health=Health.WARNING, text=text)


def _data(tables: RunTables) -> Check:
    note = tables.sweep.data_note.partition(". To get")[0]
    if note:
        return Check(name="data", health=Health.WARNING, text=note)
    return Check(name="data", health=Health.PASS, text=tables.sweep.data or "made by the trainable")


def _one_class(tables: RunTables, config: Config) -> Iterator[Check]:
    for text in one_class(tables, config):
        yield Check(name="one class", health=Health.WARNING, text=text)


def _contamination(tables: RunTables) -> Check:
    disturbed, known = _disturbed(tables.trials)
    name = "other load"
    if not known:
        return Check(name=name, health=Health.UNKNOWN, text="no run was watched for other load")
    text = f"{disturbed} of {counted(known, 'run')} disturbed{_foreign(tables.trials)}"
    return Check(name=name, health=Health.WARNING if disturbed else Health.PASS, text=text)


def _disturbed(trials: pd.DataFrame) -> tuple[int, int]:
    """Return the runs that other load disturbed, and those that were watched for it."""
    ran = trials[trials["state"].isin([TrialState.COMPLETED, TrialState.STOPPED])]
    watched = pd.Series("tags.contaminated" in ran.columns, index=ran.index)
    if _FOREIGN in ran.columns and ran[_FOREIGN].notna().any():
        watched = ran[_FOREIGN].notna() | contaminated(ran)
    return int(contaminated(ran).sum()), int(watched.sum())


def _foreign(trials: pd.DataFrame) -> str:
    """Return the mean load of others on the cores of disturbed runs, or ""."""
    if _FOREIGN not in trials.columns:
        return ""
    shares = trials.loc[contaminated(trials), _FOREIGN].dropna()
    if shares.empty:
        return ""
    return f", where others took {percent(float(shares.mean()))} of their cores' time"


def _composed(tables: RunTables, recommendation: Recommendation) -> Iterator[Check]:
    if not tables.is_composed or recommendation.config is None:
        return
    if not recommendation.composed:
        text = "the settings were trained end to end"
        yield Check(name="composed", health=Health.PASS, text=text)
        return
    runs = recommendation.num_runs
    of = "confirm run" if recommendation.measured_in == "confirm" else "probe"
    text = (
        f"speed of {counted(runs['speed'], of)}, accuracy of {counted(runs['accuracy'], 'curve')} "
        "of other settings"
    )
    yield Check(name="composed", health=Health.WARNING, text=text)


def _drift(recommendation: Recommendation) -> Check:
    drift = recommendation.drift
    if drift is None:
        text = "too few configs were repeated to tell"
        return Check(name="drift", health=Health.UNKNOWN, text=text)
    if not is_narrow(1 + drift.low, 1 + drift.high):
        text = f"not known: the interval spans more than a factor of {MOST_FACTOR:g}"
        return Check(name="drift", health=Health.UNKNOWN, text=text)
    text = f"speeds changed by {100 * drift.change:+.1f} % while the sweep ran"
    return Check(
        name="drift",
        health=Health.WARNING if drift.is_significant else Health.PASS,
        text=text if drift.is_significant else f"none shown ({100 * drift.change:+.1f} %)",
    )


def _interference(recommendation: Recommendation) -> Iterator[Check]:
    effect = recommendation.interference
    if effect is None:
        return
    if not is_narrow(effect.low, effect.high):
        text = f"not known: the interval spans more than a factor of {MOST_FACTOR:g}"
        yield Check(name="interference", health=Health.UNKNOWN, text=text)
        return
    shown = f"co-located trials have {percent(effect.ratio)} of the isolated speed"
    yield Check(
        name="interference",
        health=Health.WARNING if effect.is_shown and not effect.acted_on else Health.PASS,
        text=shown if effect.is_shown else f"not shown ({percent(effect.ratio)})",
    )


def _noise(recommendation: Recommendation) -> Check:
    noise, speedup = recommendation.noise, recommendation.speedup
    name = "noise floor"
    if noise is None:
        return Check(name=name, health=Health.UNKNOWN, text="the baseline was not repeated")
    if not is_narrow(1.0, noise.largest_ratio):
        text = f"runs of the baseline differ by more than a factor of {MOST_FACTOR:g}"
        return Check(name=name, health=Health.WARNING, text=text)
    within = speedup is not None and speedup.is_within(noise)
    text = f"runs of the baseline differ by up to {percent(noise.largest_ratio - 1, digits=1)}"
    return Check(
        name=name,
        health=Health.WARNING if within else Health.PASS,
        text=f"{text}: the speed-up is within it" if within else text,
    )


def _edges(tables: RunTables, config: Config) -> Iterator[Check]:
    edges = at_boundary(tables, config)
    for text in edges:
        yield Check(name="edge of range", health=Health.WARNING, text=text)
    if not edges:
        text = "no recommended value lies at the edge of what was tried"
        yield Check(name="edge of range", health=Health.PASS, text=text)


def _lost(tables: RunTables) -> Check:
    states, total = tables.trials["state"], counted(len(tables.trials), "trial")
    failed, infeasible, not_run = (
        int((states == state).sum())
        for state in (TrialState.FAILED, TrialState.INFEASIBLE, TrialState.NOT_RUN)
    )
    counts = {"failed": failed, "cannot run here": infeasible, "were not run": not_run}
    words = [f"{count} {what}" for what, count in counts.items() if count]
    text = f"{', '.join(words)} of {total}" if words else f"all of {total} ended with a result"
    if not len(tables.trials):
        text = "no trial ran"
    is_sound = len(tables.trials) and not failed and not not_run
    return Check(name="infeasible", health=Health.PASS if is_sound else Health.WARNING, text=text)
