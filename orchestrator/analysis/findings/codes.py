"""Codes of what a run shows; the finding, a code with its weight and words; the checks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum, StrEnum, auto
from typing import Any, Final


class Status(StrEnum):
    """Result of a run, in the words of page and terminal."""

    CONFIRMED = "confirmed"
    TIE = "tie: the baseline stays"
    NOT_CONFIRMED = "not confirmed"
    NOTHING = "nothing to recommend"


class Health(StrEnum):
    """Weight of a finding: whether the figures stand as they are."""

    PASS = "pass"
    WARNING = "warning"
    UNKNOWN = "not known"


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


class Caveat(Enum):
    """What weakens an answer, or shows that nothing does; notes come in this order."""

    COMPOSED = auto()
    BUDGET = auto()
    ONE_CLASS = auto()
    BASELINE_SHORT = auto()
    CONDITIONS = auto()
    ONE_RUN = auto()
    CONTAMINATED = auto()
    SHARED = auto()
    CONFIRM_SHORT = auto()
    DRIFT = auto()
    SHORT_EPOCHS = auto()
    INTERFERENCE = auto()
    EDGE = auto()
    REPLAY = auto()
    DATA = auto()
    OTHER_LOAD = auto()
    NOISE = auto()
    TRIALS = auto()


_CHECKS: Final[Mapping[Enum, str]] = {
    Caveat.REPLAY: "replay",
    Caveat.DATA: "data",
    Caveat.ONE_CLASS: "one class",
    Caveat.OTHER_LOAD: "other load",
    Caveat.COMPOSED: "composed",
    Caveat.DRIFT: "drift",
    Caveat.INTERFERENCE: "interference",
    Caveat.NOISE: "noise floor",
    Caveat.EDGE: "edge of range",
    Caveat.CONFIRM_SHORT: "rule",
    Caveat.BASELINE_SHORT: "rule",
    Caveat.CONDITIONS: "conditions",
    Caveat.BUDGET: "budget",
    Caveat.TRIALS: "trials",
}
"""Names of the checks, the gravest first."""


@dataclass(frozen=True)
class Finding:
    """One thing that a run shows.

    Attributes:
        code: What it is.
        text: It as a clause without a full stop; of a caveat its check, or "".
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

    @property
    def name(self) -> str:
        """Name of its check, two or three words; "" if it is none."""
        return _CHECKS.get(self.code, "")


def checks_of(caveats: Iterable[Finding]) -> tuple[Finding, ...]:
    """Return the checks of a run: warnings first, then what is not known, then what is in order."""
    order, healths = list(_CHECKS), [Health.WARNING, Health.UNKNOWN, Health.PASS]
    known = [one for one in caveats if one.name]
    known.sort(key=lambda one: (healths.index(one.health), order.index(one.code)))
    return tuple(known)
