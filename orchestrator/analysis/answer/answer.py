"""The answer of a run, as page, terminal and MLflow say it first: what to set and how sure that is.

A figure that is not known is not in it: a factor leads only where its interval leaves out 1 and is
narrower than a factor of :data:`~orchestrator.analysis.wording.MOST_FACTOR`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from orchestrator.analysis.answer.accuracy import accuracy_difference
from orchestrator.analysis.answer.changes import Change, changes_of
from orchestrator.analysis.answer.checks import checks_of
from orchestrator.analysis.answer.effort import effort_of
from orchestrator.analysis.answer.lead import Status, lead_of
from orchestrator.analysis.answer.machine_checks import Check, Health
from orchestrator.analysis.columns import same_config
from orchestrator.analysis.recommendation.recommend import Recommendation
from orchestrator.analysis.recommendation.sentences import why_not_known
from orchestrator.analysis.recommendation.speedup import Speedup
from orchestrator.analysis.tables.run_tables import RunTables
from orchestrator.analysis.wording import MOST_FACTOR

__all__ = [
    "MOST_FACTOR", "Answer", "Change", "Check", "Health", "Known", "Status", "answer_of",
]  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Known:
    """A figure with its 95 % interval."""

    centre: float
    low: float
    high: float


@dataclass(frozen=True, kw_only=True)
class Answer:
    """The answer of a run: a sentence, its figures, its checks.

    Attributes:
        status: What was shown.
        sentence: The answer in one sentence, without a full stop.
        speedup: Over the baseline; None where it is not known well enough to lead.
        why_not_known: Why ``speedup`` is None, the gravest reason first; "" where it is known, and
            where the baseline itself is recommended.
        accuracy_difference: Recommended less baseline, in the accuracy's own unit; None where it
            is not known, and where the baseline itself is recommended.
        changed: The knobs that differ from the baseline's.
        checks: What the figures rest on, the gravest first.
        cost: What the search took and what it saves, each where it is known; see
            :func:`~orchestrator.analysis.answer.effort.effort_of`.
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
    config, speedup = recommendation.config, recommendation.speedup
    is_other = config is not None and not same_config(config, tables.sweep.baseline)
    difference = accuracy_difference(tables, config or {}) if is_other else None
    status, sentence = lead_of(tables, recommendation, difference)
    return Answer(
        status=status,
        sentence=sentence,
        speedup=_known(speedup),
        why_not_known="" if speedup is None else why_not_known(speedup, tables),
        accuracy_difference=None
        if difference is None
        else Known(centre=difference.centre, low=difference.low, high=difference.high),
        changed=() if config is None else changes_of(config, tables),
        checks=checks_of(tables, recommendation),
        cost=effort_of(tables, config, speedup),
    )


def _known(speedup: Speedup | None) -> Known | None:
    if speedup is None or not speedup.leads:
        return None
    assert speedup.ratio is not None
    assert speedup.low is not None
    assert speedup.high is not None
    return Known(centre=speedup.ratio, low=speedup.low, high=speedup.high)
