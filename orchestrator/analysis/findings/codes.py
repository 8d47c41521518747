"""Codes of what a run shows; the finding, a code with its weight and words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum, StrEnum, auto
from typing import Any


class Status(StrEnum):
    """Result of a run, in the words of page and terminal."""

    CONFIRMED = "confirmed"
    TIE = "tie: the baseline stays"
    NOT_CONFIRMED = "not confirmed"
    NOTHING = "nothing to recommend"


class Health(StrEnum):
    """Weight of a finding, the gravest first: whether the figures stand as they are."""

    WARNING = "warning"
    UNKNOWN = "not known"
    PASS = "pass"


class Reason(Enum):
    """Reason for a speed-up that is not known, the gravest first."""

    NOT_POSITIVE = auto()
    ONE_SIDED = auto()
    BASELINE_NOT_RUN = auto()
    BASELINE_WITHOUT = auto()
    BASELINE_LOST = auto()
    NOT_CONFIRMED = auto()
    OTHER_LOAD = auto()
    ONE_PAIR = auto()
    WIDE = auto()
    NOT_TOLD_APART = auto()


class Caveat(StrEnum):
    """What weakens an answer, or shows that nothing does, the gravest first; names of checks."""

    REPLAY = "replay"
    DATA = "data"
    ONE_CLASS = "one class"
    OTHER_LOAD = "other load"
    COMPOSED = "composed"
    BUDGET = "budget"
    RULE = "rule"
    CONDITIONS = "conditions"
    ONE_RUN = "one run"
    CONTAMINATED = "contaminated"
    SHARED = "shared cores"
    DRIFT = "drift"
    SHORT_EPOCHS = "short epochs"
    INTERFERENCE = "interference"
    NOISE = "noise floor"
    EDGE = "edge of range"
    TRIALS = "trials"


@dataclass(frozen=True)
class Finding:
    """One thing that a run shows.

    Attributes:
        code: What it is.
        text: It as a clause without a full stop; of a caveat its check, or "" if it is none.
        note: Of a caveat its note on the answer, or "".
        health: How grave it is.
        figures: Its figures by name.
    """

    code: Reason | Caveat
    text: str = ""
    note: str = ""
    health: Health = Health.WARNING
    figures: Mapping[str, Any] = field(default_factory=dict)

    def __getitem__(self, name: str) -> Any:  # noqa: ANN401 - figures are of several types
        return self.figures[name]
