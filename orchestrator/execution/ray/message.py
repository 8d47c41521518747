"""Messages from a trial's supervisor, in its actor, to the driver."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from orchestrator.trial import Report, TrialResult

KEY = "message"
"""Name of the message in a result of Tune."""


@dataclass(frozen=True, kw_only=True)
class Start:
    """A training process of a trial that has been started.

    Attributes:
        node: Host that it runs on.
        restored_epochs: Epochs that a checkpoint has restored.
    """

    node: str
    restored_epochs: int = 0


@dataclass(frozen=True, kw_only=True)
class Message:
    """News of a launch since the message before.

    Attributes:
        reports: Reports, each with its trial's id, oldest first.
        so_far: Row of the last report's trial if it ended there, or None without reports.
        trial_id: Trial that ``start`` or ``result`` is of. Empty with a ``result``: every trial
            of the launch that has not ended.
        start: Start of the trial, after the reports, or None.
        result: End of the trial, after the reports, or None.
        waiting: What the launch waits for before it can start, or empty.
        notes: What the user should know of how trials run.
    """

    reports: tuple[tuple[str, Report], ...] = ()
    so_far: TrialResult | None = None
    trial_id: str = ""
    start: Start | None = None
    result: TrialResult | None = None
    waiting: str = ""
    notes: tuple[str, ...] = ()

    def to_tune(self, *, is_last: bool = False) -> dict[str, Any]:
        """Return the message as a result of Tune; ``is_last`` ends Tune's trial.

        It is one string: Tune flattens dictionaries and makes a column of each of their keys.
        """
        plain = json.dumps(asdict(self))
        return {KEY: plain, "done": True} if is_last else {KEY: plain}

    @classmethod
    def from_tune(cls, result: Mapping[str, Any]) -> Message:
        """Return the message in a result of Tune; an empty one if Tune made the result itself."""
        plain = json.loads(result.get(KEY, "{}"))
        if not plain:
            return cls()
        reports = tuple((trial, Report.from_json(report)) for trial, report in plain["reports"])
        plain |= {"reports": reports, "notes": tuple(plain["notes"])}
        if plain["start"]:
            plain["start"] = Start(**plain["start"])
        for name in ("so_far", "result"):
            plain[name] = plain[name] and TrialResult.from_json(plain[name])
        return cls(**plain)
