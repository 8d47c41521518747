"""Codes of what a run shows; the finding, a code with its weight and words."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


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


class Caveat(StrEnum):
    """What weakens an answer, or shows that nothing does, the gravest first; names of checks."""

    REPLAY = "replay"
    DATA = "data"
    ONE_CLASS = "one class"
    OTHER_LOAD = "other load"
    COMPOSED = "composed"
    ROLES = "roles"
    BUDGET = "budget"
    RULE = "rule"
    CONDITIONS = "conditions"
    START = "start"
    EFFECT = "effects"
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
    """One check of what the figures of a run rest on: its code, a clause, and its weight."""

    code: Caveat
    text: str
    health: Health = Health.WARNING
