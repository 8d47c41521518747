"""Micro-batches: a batch computed in parts; their gradients add up to those of the whole."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from orchestrator import both, knobs
from trainables.graph.slots import Slots
from trainables.loading import Draw

B = TypeVar("B")


@knobs
class MicroBatchKnobs:
    """Knobs of what is computed at the same time."""

    accumulate: int = both(
        default=1,
        ge=1,
        doc="parts of a rank's share of a batch that are computed one after the other, which takes "
        "less memory; gradients are added up. Dropout and batch norm see a part at a time",
        applies=lambda config: config.is_sampled(),
    )


@dataclass(frozen=True, kw_only=True)
class FetchParts(Generic[B]):
    """Maker of the micro-batches of the step that a draw stands for.

    Attributes:
        fetch: Makes each of them. A node's sample depends on the step, not on its part.
        count: Their number.
        slots: How a worker hands them over; None without workers.
    """

    fetch: Callable[[Draw], B]
    count: int
    slots: Slots | None = None

    def __call__(self, draw: Draw) -> tuple[B, ...]:
        """The micro-batches of ``draw``."""
        draws = draw.parts(self.count) if self.count > 1 else (draw,)
        parts = tuple(map(self.fetch, draws))
        return parts if self.slots is None else self.slots.shipped(parts)
