"""Steps and their phases: wait, transfer, forward, backward, optimizer.

A step begins when the loop asks for a batch and ends when it asks for the next one. The first
of an epoch begins with the epoch, before its loader is started, and the last one ends when the
loader has said that there is no more: the time of a loader to start and to end is in some step.
The rest beside the phases is ``other``: Python between them, logging, read-backs.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Phase(StrEnum):
    """Part of a step."""

    WAIT = "wait"
    TRANSFER = "transfer"
    FORWARD = "forward"
    BACKWARD = "backward"
    OPTIMIZER = "optimizer"

    @classmethod
    def _missing_(cls, value: object) -> None:
        raise ValueError(f"{value!r:.80} is no phase of a step; allowed: {', '.join(cls)}")


@dataclass(slots=True)
class Step:
    """One step of an epoch, its times in seconds.

    Attributes:
        epoch: Index of the epoch, from 0.
        begin_s: Time at which the loop asked for the batch, since the run's clock began.
        end_s: Time at which it was done with it; of an epoch's last one, its loader having ended.
        samples: Training samples in the batch, over all ranks.
        phases: Seconds by phase; ``wait`` is always there.
        host_s: Time of the host from the batch on; None where the clock is the host's own.
    """

    epoch: int
    begin_s: float
    end_s: float
    samples: int
    phases: dict[Phase, float]
    host_s: float | None = None

    @property
    def duration_s(self) -> float:
        """Time from asking for the batch to being done with it."""
        return self.end_s - self.begin_s


@dataclass(frozen=True, kw_only=True)
class Epoch:
    """One pass over the training data, or as far as it got, its times in seconds.

    Attributes:
        index: From 0.
        begin_s: Time at which it began, since the run's clock began.
        start_s: From there to the first batch: worker start-up and the first fetch.
        end_s: Time at which its loader had nothing left, its workers having ended where they do
            not persist; of one that is not whole, at which its last step was done.
        is_whole: True where the loader had nothing left.
    """

    index: int
    begin_s: float
    start_s: float
    end_s: float
    is_whole: bool = True

    @property
    def duration_s(self) -> float:
        """Duration, the start included."""
        return self.end_s - self.begin_s
