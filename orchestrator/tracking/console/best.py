"""The best configs so far, as the console shows them.

The driver passes the function that finds them. It is the code of the recommendation, so that the
console cannot disagree with the report.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from orchestrator.storage.history import SweepHistory


@dataclass(frozen=True, kw_only=True)
class Best:
    """A config that leads in something.

    Attributes:
        title: Its lead in a word or two: ``recommended``, ``fastest``.
        config: The value of every knob.
        figures: Its metrics by name, means over its runs.
    """

    title: str
    config: Mapping[str, Any]
    figures: Mapping[str, float]


@dataclass(frozen=True, kw_only=True)
class BestSoFar:
    """The leading configs of a sweep at one moment.

    Attributes:
        leaders: The configs, the recommended one first, none twice.
        baseline: The baseline's speed, samples/s; None while it is not known.
        num_front: Configs on the Pareto front; None while it is not known.
    """

    leaders: Sequence[Best] = field(default=())
    baseline: float | None = None
    num_front: int | None = None


FindBest = Callable[[SweepHistory], BestSoFar]
"""Finds the best configs of a sweep; may take some tens of milliseconds."""
