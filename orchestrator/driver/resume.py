"""The earlier processes of a run that is resumed: its question, and the changes since.

Another question is another run. So is the same question on other data or other cores. A change
of the trainable's source or of the data's content is allowed, and noted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from orchestrator.errors import RunDirectoryError
from orchestrator.kernel.events import Continued, Ended, Event, Opened
from orchestrator.kernel.journal import read_journal
from orchestrator.storage.files import RunFile
from orchestrator.storage.sweep_record import Part, SweepRecord
from orchestrator.sweep.definition import Sweep


@dataclass(frozen=True, kw_only=True)
class Past:
    """The earlier processes of a run.

    Attributes:
        run_dir: The run directory.
        events: Their events; none if nothing was journalled.
        record: The record with which the run was started, or None.
    """

    run_dir: Path
    events: Sequence[Event] = ()
    record: SweepRecord | None = None

    @property
    def has_ended(self) -> bool:
        """Return True if the last process came to the end."""
        last = self.events[-1] if self.events else None
        return isinstance(last, Ended) and last.exit_code == 0

    @property
    def extended_to(self) -> int | None:
        """Return the configs that the run was extended to last; None if it never was."""
        extended = [event.trials for event in self.events if isinstance(event, Continued)]
        return next((trials for trials in reversed(extended) if trials is not None), None)

    def extension(self, trials: int | None, sweep: Sweep[Any]) -> int | None:
        """Return the configs to which the search is extended now; None if it is not extended.

        Args:
            trials: The configs asked for now, or None.
            sweep: The sweep as it was started.

        Raises:
            RunDirectoryError: The search has no number of configs, or had a larger one.
        """
        if trials is None:
            return None
        before = self.extended_to or getattr(sweep.search, "trials", None)
        if before is None:
            raise RunDirectoryError(
                f"--trials {trials}: the run tries every config of its search, so there is nothing "
                "to extend it to",
                "leave --trials out, or start a new run",
            )
        if trials < before:
            raise RunDirectoryError(
                f"--trials {trials}: the run was asked for {before} configs",
                f"allowed: {before} or more; or start a new run",
            )
        return trials if trials > before else None

    def require_same(self, now: SweepRecord, part: Part) -> None:
        """Check that a part of the sweep is as it was when the run was started.

        Raises:
            RunDirectoryError: It has changed.
        """
        changes = {} if self.record is None else now.changes(self.record, part)
        if changes:
            lines = [f"{name}: {then!r} then, {new!r} now" for name, (then, new) in changes.items()]
            raise RunDirectoryError(
                f"--resume {self.run_dir}: the sweep has changed since:\n  " + "\n  ".join(lines),
                "start a new run, or give the options and the sweep file that it was started with",
            )

    def require_more(self, trials: int | None, cut_by: str, *, extends: bool) -> None:
        """Check that the run has something left to do that it may do.

        Args:
            trials: Configs that the search is extended to, or None.
            cut_by: Budgets that have cut it short, none of which is larger now; or "".
            extends: True if its search can be extended.

        Raises:
            RunDirectoryError: A budget has ended the run and none is larger now, or its search
                cannot be extended.
        """
        if trials is not None and not extends:
            raise RunDirectoryError(
                f"--resume {self.run_dir} --trials {trials}: its search cannot be extended",
                "start a new run",
            )
        if self.has_ended and trials is None and cut_by:
            raise RunDirectoryError(
                f"--resume {self.run_dir}: {cut_by} has ended this run",
                "give it more: a larger --time-budget or --core-hours",
            )

    def notes(self, now: SweepRecord) -> list[str]:
        """Return a note for each change that makes earlier trials incomparable with later ones."""
        before = self.record or now
        changed = {
            "the trainable's source": now.source_hash != before.source_hash,
            "the data": now.data_fingerprint != before.data_fingerprint,
        }
        return [
            f"{what} has changed since this run was started: what has finished is kept as it is "
            "and not comparable with the rest; start a new run to measure all of it again"
            for what, has_changed in changed.items()
            if has_changed
        ]


def read_past(run_dir: Path, now: SweepRecord) -> Past:
    """Return the earlier processes of a run; none of one that has not begun.

    Args:
        run_dir: The run directory.
        now: The sweep's question.

    Raises:
        RunDirectoryError: The journal does not begin with a sweep, or with another question.
    """
    journal = run_dir / RunFile.JOURNAL
    if not (events := list(read_journal(journal)) if journal.exists() else []):
        return Past(run_dir=run_dir)
    if not isinstance(events[0], Opened):
        raise RunDirectoryError(
            f"--resume {run_dir}: its journal does not begin with the sweep", "start a new run"
        )
    record = SweepRecord.from_json(events[0].sweep, f"--resume {run_dir}: its journal")
    past = Past(run_dir=run_dir, events=events, record=record)
    past.require_same(now, "question")
    return past
