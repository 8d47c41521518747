"""The earlier processes of a run that is resumed, and what they must have in common with this one.

A run is resumed only with the same question: the part that no machine and no data changes. The same
question on other data or other cores is another run, too. A change of the trainable's source or of
the data's content is allowed, and noted.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from orchestrator.driver.record import question_record
from orchestrator.driver.request import Request
from orchestrator.errors import RunDirectoryError
from orchestrator.formats import counted
from orchestrator.kernel.events import Continued, Event, Finished, Opened
from orchestrator.kernel.journal import read_journal
from orchestrator.kernel.search import Search
from orchestrator.storage.files import RunFile, table_ids
from orchestrator.storage.sweep_record import Part, SweepRecord
from orchestrator.sweep.definition import Sweep


@dataclass(frozen=True, kw_only=True)
class Past:
    """The earlier processes of a run.

    Attributes:
        run_dir: The run directory.
        events: Their events; none if nothing was journalled.
        record: The record with which the run was started, or None.
        trials: Configs to which the search is extended now, or None.
    """

    run_dir: Path
    events: Sequence[Event] = ()
    record: SweepRecord | None = None
    trials: int | None = None

    @property
    def configs(self) -> int | None:
        """Return the configs that the search has been extended to, now or before; or None."""
        extended = [event.trials for event in self.events if isinstance(event, Continued)]
        return next(filter(None, [self.trials, *reversed(extended)]), None)

    def extension(self, trials: int | None, sweep: Sweep[Any]) -> int | None:
        """Return the configs to which a sweep's search is extended now, if ``trials`` are more.

        Raises:
            RunDirectoryError: The search has no number of configs, or had a larger one.
        """
        if trials is None:
            return None
        before = self.configs or getattr(sweep.search, "trials", None)
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

    def require_extended(self, search: Search) -> None:
        """Check that a search can continue to the configs to which it is extended now, if it is.

        Raises:
            RunDirectoryError: It cannot.
        """
        if self.trials is not None and not search.extends:
            raise RunDirectoryError(
                f"--resume {self.run_dir} --trials {self.trials}: its search cannot be extended",
                "start a new run",
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


def past_of(request: Request) -> Past:
    """Return the earlier processes of a request's run, checked; none where there is no run.

    Raises:
        RunDirectoryError: The run is of another question, or as for :func:`past_events` and
            :meth:`Past.extension`.
    """
    run_dir = request.options.resume
    if run_dir is None:
        return Past(run_dir=Path())
    events = past_events(run_dir)
    first, record, which = next(iter(events), None), None, f"--resume {run_dir}: its journal"
    if type(first) is Opened:  # sweep.json is of the last process
        record = SweepRecord.from_json(first.sweep, which)
    elif first is not None:
        raise RunDirectoryError(f"{which} does not begin with the sweep", "start a new run")
    past = Past(run_dir=run_dir, events=events, record=record)
    past.require_same(question_record(request.sweep, request.file), "question")
    return replace(past, trials=past.extension(request.trials, request.sweep))


def past_events(run_dir: Path) -> list[Event]:
    """Return the events of a run; none if it has not begun.

    Raises:
        RunDirectoryError: The journal lacks the end of a trial that the table has.
    """
    journal = run_dir / RunFile.JOURNAL
    events = list(read_journal(journal)) if journal.exists() else []
    ended = {event.trial_id for event in events if isinstance(event, Finished)}
    if lacking := table_ids(run_dir) - ended:
        what = f"the end of {counted(len(lacking), 'trial')} of {RunFile.TRIALS_TEXT}"
        raise RunDirectoryError(
            f"{journal}: {'lacks' if ended else 'is empty, missing or of another run: it lacks'} "
            f"{what}, such as {min(lacking)}",
            "restore it, or start a new run",
        )
    return events
