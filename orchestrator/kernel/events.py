"""The events of a sweep, and their one codec.

Every fact of a sweep is an event: a frozen dataclass here, one JSON object a line in the journal.
Each line has ``at`` (Unix time, to the millisecond) and ``event``, the word of its kind in
:data:`KINDS`. ``steps.jsonl`` has ``started`` and ``blocks``.

A trial that was asked for and has no ``finished`` line was interrupted; on resume it runs again
under the same id. Reports before its last ``started`` line are void, except those of the epochs
that it restored.
"""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, TypeVar

import msgspec

from orchestrator.errors import SweepError
from orchestrator.trial import BlockRow, Budget, Proposal, Report, Trial, TrialResult

P = TypeVar("P", bound=Proposal)
Scalar = bool | int | float | str | None
Value = Scalar | tuple[Scalar, ...]
"""A knob's value; as JSON has it, a list in place of the tuple."""

DAMAGED: Final = (
    ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError, SweepError,
)  # fmt: skip
"""What decoding or applying a damaged line raises; msgspec's errors are ValueErrors."""


@dataclass(frozen=True, kw_only=True)
class Event:
    """A fact of a sweep.

    Attributes:
        at: Unix time, to the millisecond; the journal sets it.
    """

    at: float = -1.0


@dataclass(frozen=True, kw_only=True)
class Opened(Event):
    """A process begins with the sweep as resolved, :meth:`SweepRecord.to_json`: the first line."""

    sweep: Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class Resumed(Opened):
    """The sweep as resolved, of a later process."""


@dataclass(frozen=True, kw_only=True)
class Asked(Event):
    """The search proposed a trial."""

    trial: Trial


@dataclass(frozen=True, kw_only=True)
class Merged(Event):
    """The search proposed a trial again: the row with its id is the answer."""

    trial: Trial


@dataclass(frozen=True, kw_only=True)
class OfTrial(Event):
    """An event of a trial that was asked for before."""

    trial_id: str


@dataclass(frozen=True, kw_only=True)
class Started(OfTrial):
    """A process of a trial started; in ``steps.jsonl`` without its place.

    Attributes:
        node: Host.
        cores: Number of its cores.
        restored_epochs: Epochs that it restored from a checkpoint.
    """

    node: str = ""
    cores: int = 0
    restored_epochs: int = 0


@dataclass(frozen=True, kw_only=True)
class Reported(OfTrial):
    """A report of a running trial, without its blocks."""

    report: Report


@dataclass(frozen=True, kw_only=True)
class Finished(OfTrial):
    """The end of a trial, in whatever way; its result without blocks and output."""

    result: TrialResult


@dataclass(frozen=True, kw_only=True)
class Judged(OfTrial):
    """A trial that completed is infeasible, as later ones show; its result from here on."""

    result: TrialResult


@dataclass(frozen=True, kw_only=True)
class Waiting(OfTrial):
    """A trial has waited to start for ``seconds``, for ``what``."""

    seconds: float
    what: str


@dataclass(frozen=True, kw_only=True)
class Timed(OfTrial):
    """Blocks of steps."""

    blocks: Sequence[BlockRow]


@dataclass(frozen=True, kw_only=True)
class Cut(Event):
    """A budget ended a part of the search.

    Attributes:
        part: ``search`` or ``confirm``.
        by: Budget that has no room left.
        limits: All budgets.
        text: What was left out.
    """

    part: str
    by: str
    limits: Mapping[str, float | None]
    text: str


@dataclass(frozen=True, kw_only=True)
class Continued(Event):
    """The search continues: to ``trials`` configs in all, or, with None, after a cut."""

    trials: int | None = None


@dataclass(frozen=True, kw_only=True)
class Noted(Event):
    """Something the user should know, once."""

    text: str


@dataclass(frozen=True, kw_only=True)
class Ended(Event):
    """The process ended."""

    exit_code: int


def opening(sweep: Mapping[str, Any], past: Sequence[Event]) -> Opened:
    """Return the first event of a process, after those of earlier ones."""
    return (Resumed if past else Opened)(sweep=sweep)


def deaths_of(past: Sequence[Event]) -> Counter[str]:
    """Return for each trial how many drivers died while it ran, instead of ending in order."""
    deaths, running = Counter[str](), set[str]()
    for event in (*past, opening({}, past)):
        if isinstance(event, Started):
            running.add(event.trial_id)
        elif isinstance(event, Finished):
            running.discard(event.trial_id)
        elif isinstance(event, Opened | Ended):
            deaths.update(running if isinstance(event, Opened) else ())
            running.clear()
    return deaths


KINDS: Final[Mapping[str, type[Event]]] = {
    "sweep": Opened, "resumed": Resumed, "asked": Asked, "merged": Merged, "started": Started,
    "report": Reported, "finished": Finished, "judged": Judged, "waiting": Waiting,
    "cut": Cut, "went_on": Continued, "note": Noted, "ended": Ended, "blocks": Timed,
}  # fmt: skip
"""The class of each word."""
_WORDS: Final = {kind: word for word, kind in KINDS.items()}
_LEFT_OUT: Final[Mapping[type, Mapping[str, Any]]] = {
    Budget: Budget.LEFT_OUT,
    Started: {"node": "", "cores": 0, "restored_epochs": 0},
}
"""Fields that a line lacks while they have these values: most lines."""
_ELSEWHERE: Final[Mapping[type, Sequence[str]]] = {
    Report: ("blocks",), TrialResult: ("blocks", "output"),
}  # fmt: skip
"""Fields that are written to separate files, not to the journal."""


def encode(event: Event) -> bytes:
    """Return an event as a line of the journal, without its end."""
    return json.dumps(plain(event), separators=(",", ":"), default=_plain_value).encode()


def plain(event: Event) -> dict[str, Any]:
    """Return the object on an event's line; its values are not plain yet."""
    fields = dict(_plain_value(event))
    return {"at": fields.pop("at"), "event": _WORDS[type(event)], **fields}


def _plain_value(value: object) -> Any:  # noqa: ANN401 - JSON, or a dictionary of such values
    if type(value) not in _WRITTEN:
        return str(value)
    left_out, elsewhere = _LEFT_OUT.get(type(value), {}), _ELSEWHERE.get(type(value), ())
    return {
        name: each
        for name, each in vars(value).items()
        if name not in elsewhere and not (name in left_out and each == left_out[name])
    }


_WRITTEN: Final = frozenset({*_WORDS, Trial, Budget, Report, TrialResult})


def decode(line: bytes) -> Event | None:
    """Return the event on a line; None for a kind that this version does not know.

    Raises:
        Exception: One of :data:`DAMAGED`: no run writes such a line.
    """
    fields = json.loads(line)
    kind = KINDS.get(fields["event"])
    if kind is None:
        return None
    event: Event = msgspec.convert(fields, kind)
    if isinstance(event, Asked | Merged):
        return replace(event, trial=with_values(event.trial))
    return event


def with_values(read: P) -> P:
    """Return a trial or a proposal that was read from JSON, with tuples in place of lists."""
    return replace(read, config=msgspec.convert(read.config, dict[str, Value]))
