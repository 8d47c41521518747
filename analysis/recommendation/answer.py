"""The answer of a run, as page, terminal and MLflow say it first: what to set and how sure that is.

A figure that is not known is not in it: a factor leads only where its interval leaves out 1 and is
narrower than a factor of :data:`MOST_FACTOR`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final

from analysis.recommendation.recommend import Recommendation
from analysis.tables.run_tables import RunTables
from orchestrator.space.configs import format_value

MOST_FACTOR: Final = 1.5
"""An interval whose ends differ by more than this tells no figure."""


class Status(StrEnum):
    """What a run has shown, in the words that are shown."""

    CONFIRMED = "confirmed"
    TIE = "tie: the baseline stays"
    NOT_CONFIRMED = "not confirmed"
    NOTHING = "nothing to recommend"


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


@dataclass(frozen=True, kw_only=True)
class Known:
    """A figure with its 95 % interval."""

    centre: float
    low: float
    high: float


@dataclass(frozen=True, kw_only=True)
class Change:
    """A knob whose recommended value differs from the baseline's, both as ``--set`` takes them."""

    knob: str
    value: str
    baseline: str


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What is said first of a run.

    Attributes:
        status: What was shown.
        sentence: The answer in one sentence, without a full stop.
        speedup: Over the baseline; None where it is not known well enough to lead.
        why_not_known: Why ``speedup`` is None, the gravest reason first; "" where it is known.
        accuracy_difference: Recommended less baseline, in the accuracy's own unit; None where it
            is not known.
        changed: The knobs that differ from the baseline's.
        checks: What the figures rest on, the gravest first.
        cost: ``search_s`` (wall time of all trials), ``search_core_hours``, ``saved_s_per_epoch``
            and ``peak_rss_gib``, each where it is known.
    """

    status: Status
    sentence: str
    speedup: Known | None = None
    why_not_known: str = ""
    accuracy_difference: Known | None = None
    changed: tuple[Change, ...] = ()
    checks: tuple[Check, ...] = ()
    cost: Mapping[str, float] = field(default_factory=dict)


def answer_of(tables: RunTables, recommendation: Recommendation) -> Answer:
    """Return what is said first of a run."""
    if recommendation.config is None:
        return Answer(status=Status.NOTHING, sentence=recommendation.why)
    return Answer(
        status=Status.NOT_CONFIRMED,
        sentence=recommendation.why,
        changed=_changed(recommendation.config, tables),
    )


def _changed(config: Mapping[str, Any], tables: RunTables) -> tuple[Change, ...]:
    baseline = tables.sweep.baseline
    return tuple(
        Change(knob=name, value=format_value(value), baseline=format_value(baseline[name]))
        for name, value in config.items()
        if name in baseline and format_value(value) != format_value(baseline[name])
    )
