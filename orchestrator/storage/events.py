"""Checks of the journal's events, and of those of ``steps.jsonl``: what a reader relies on."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from orchestrator.errors import SweepError
from orchestrator.field_types import checked_against, require_types
from orchestrator.trial import Report, Trial, TrialResult, TrialState

Event = dict[str, Any]

OF_A_DAMAGED_LINE: Final = (
    ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError, SweepError,
)  # fmt: skip
"""What reading a damaged line raises."""
_LAST: Final = 253_402_300_799
"""Unix time of the last second that a calendar has, of the year 9999."""
_FIELDS: Final[Mapping[str, Mapping[str, Any]]] = {
    "sweep": {"sweep": Mapping[str, Any]},
    "resumed": {"sweep": Mapping[str, Any]},
    "asked": {"trial": Mapping[str, Any]},
    "merged": {"trial": Mapping[str, Any]},
    "started": {"trial_id": str},
    "report": {"trial_id": str, "report": Mapping[str, Any]},
    "finished": {"trial_id": str, "result": Mapping[str, Any]},
    "waiting": {"trial_id": str, "seconds": float, "what": str},
    "cut": {"part": str, "by": str, "limits": Mapping[str, float | None], "text": str},
    "went_on": {"trials": int | None},
    "note": {"text": str},
    "ended": {"exit_code": int},
    "blocks": {"trial_id": str, "blocks": list[tuple[int, int, int, int, float, int]]},
}
"""Fields of the events that are known, beside ``at`` and ``event``."""
_OPTIONAL: Final[Mapping[str, Mapping[str, Any]]] = {
    "started": {"node": str, "cores": int, "restored_epochs": int}
}
_CHECKS: Final = {
    kind: {name: checked_against(hint) for name, hint in fields.items()}
    for kind, fields in _FIELDS.items()
}
_OPTIONAL_CHECKS: Final = {
    kind: {name: checked_against(hint) for name, hint in fields.items()}
    for kind, fields in _OPTIONAL.items()
}
_SETTING: Final = checked_against(
    bool | int | float | str | None | tuple[bool | int | float | str, ...]
)


class EventReader:
    """Reads the lines of one file, each held against those before it."""

    def __init__(self) -> None:
        self._states: dict[str, TrialState | None] = {}

    def read(self, line: bytes, *, of_trials: bool) -> Event:
        """Return the event on a line.

        Args:
            line: The line.
            of_trials: True where trials are asked for before anything else is said of them.

        Raises:
            Exception: One of :data:`OF_A_DAMAGED_LINE`: it is none that a run writes.
        """
        event = json.loads(line)
        if not isinstance(event, dict):
            raise ValueError(f"it is a {type(event).__name__}, not an object")
        kind = event["event"]
        if not isinstance(kind, str):
            raise TypeError(f"'event' is a {type(kind).__name__}")
        _require_time("at", event["at"])
        _require_fields(kind, event)
        if of_trials:
            self._follow(kind, event)
        return event

    def _follow(self, kind: str, event: Event) -> None:
        if kind in ("asked", "merged"):
            trial = Trial.from_json(event["trial"])
            require_types(trial)
            for name, setting in trial.config.items():
                if _SETTING(setting) is not None:
                    raise TypeError(f"{name!r} of the config is a {type(setting).__name__}")
            if kind == "asked":
                self._states.setdefault(trial.id, None)
            elif trial.id not in self._states:
                raise ValueError(f"trial {trial.id!r} was never asked for")
        elif kind in ("started", "report", "finished", "waiting"):
            if (trial_id := event["trial_id"]) not in self._states:
                raise ValueError(f"trial {trial_id!r} was never asked for")
            if kind == "started" and "cores" not in event:  # only in the journal they are there
                raise KeyError("cores")
            if kind == "report":
                require_types(Report.from_json(event["report"]))
            elif kind == "finished":
                self._finish(trial_id, TrialResult.from_json(event["result"]))

    def _finish(self, trial_id: str, result: TrialResult) -> None:
        require_types(result)
        if result.started_at is not None:
            _require_time("started_at", result.started_at)
        if self._states[trial_id] not in (None, TrialState.NOT_RUN):
            raise ValueError(f"trial {trial_id!r} has ended before")
        self._states[trial_id] = result.state


def _require_time(name: str, value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= _LAST:
        raise ValueError(f"{name!r} is no Unix time")


def _require_fields(kind: str, event: Event) -> None:
    for name, check in _CHECKS.get(kind, {}).items():
        if (wrong := check(event[name])) is not None:
            raise TypeError(f"{name}{wrong.path} is not {wrong.allowed}")
    for name, check in _OPTIONAL_CHECKS.get(kind, {}).items():
        if name in event and (wrong := check(event[name])) is not None:
            raise TypeError(f"{name}{wrong.path} is not {wrong.allowed}")
