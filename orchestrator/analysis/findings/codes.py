"""Codes of what a run shows; the sentences are made of them in ``words`` and ``caveat_words``."""

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
    """Weight of a finding: whether the figures stand as they are."""

    PASS = "pass"
    WARNING = "warning"
    UNKNOWN = "not known"


class Lead(Enum):
    """Statement of the answer's first sentence."""

    NOTHING = auto()
    TIMES = auto()
    """The speed-up, with its interval."""
    AS_FAST = auto()
    """A tie with a baseline that is not cheaper."""
    FASTER = auto()
    SLOWER = auto()
    """By a factor that is not known; slower only where the rule allows no other config."""
    SELECTED = auto()
    """No confirm runs show a speed-up."""
    STAYS_TIMES = auto()
    """The baseline stays: the other config is slower, by a known factor."""
    STAYS_SLOWER = auto()
    STAYS_TIE = auto()
    STAYS_ALONE = auto()
    STAYS_BY_RULE = auto()
    STAYS_IN_SEARCH = auto()
    STAYS_IN_CONFIRM = auto()


class Reason(Enum):
    """Reason for a config, for none, for a speed-up that is not known, or for an empty front."""

    # For a config:
    NOT_FASTER = auto()
    """The baseline, since the confirm runs of the selected config show a tie or a loss."""
    FINALIST = auto()
    BY_RULE = auto()
    FASTEST = auto()
    CHEAPER = auto()
    # For none:
    REFUSED = auto()
    """By a function of the sweep file."""
    NO_CONFIG_HOLDS = auto()
    NOT_TRAINED = auto()
    TARGET_NOT_REACHED = auto()
    NOT_REPORTED = auto()
    NOT_TOGETHER = auto()
    NOT_COMPLETED = auto()
    # For a speed-up that is not known, the gravest first:
    NOT_POSITIVE = auto()
    ONE_SIDED = auto()
    BASELINE_NOT_RUN = auto()
    BASELINE_WITHOUT = auto()
    BASELINE_LOST = auto()
    NO_CONFIRM_STAGE = auto()
    NO_CONFIRM_RUN = auto()
    NO_PAIR = auto()
    OTHER_LOAD = auto()
    ONE_PAIR = auto()
    WIDE = auto()
    NOT_TOLD_APART = auto()
    # For an empty front:
    NO_CONFIG_WITHIN = auto()
    NO_CONFIG_MEASURED = auto()


class Caveat(Enum):
    """What weakens an answer, or shows that nothing does."""

    COMPOSED = auto()
    BUDGET = auto()
    ONE_CLASS = auto()
    BASELINE_SHORT = auto()
    STOPPED = auto()
    CONDITIONS = auto()
    SLOWER = auto()
    ONE_RUN = auto()
    ALL_CONTAMINATED = auto()
    LEFT_OUT = auto()
    SHARED = auto()
    LOST = auto()
    CONFIRM_SHARED = auto()
    CONFIRM_SHORT = auto()
    DRIFT = auto()
    SHORT_EPOCHS = auto()
    INTERFERENCE = auto()
    WORSE_THAN_BEST = auto()
    EDGE = auto()
    REPLAY = auto()
    DATA = auto()
    OTHER_LOAD = auto()
    NOISE = auto()
    TRIALS = auto()


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One thing that a run shows.

    Attributes:
        code: What it is.
        health: How grave it is.
        figures: Its figures by name.
    """

    code: Lead | Reason | Caveat
    health: Health = Health.WARNING
    figures: Mapping[str, Any] = field(default_factory=dict)

    def __getitem__(self, name: str) -> Any:  # noqa: ANN401 - figures are of several types
        return self.figures[name]
