"""The resumption of a run: its options, its question, and the changes since.

Another question is another run. So is the same question on other data or other cores. A change
of the trainable's source or of the data's content is allowed, and noted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from orchestrator.driver.budgets.limits import Limits
from orchestrator.driver.options.options import Options
from orchestrator.errors import RunDirectoryError
from orchestrator.kernel.events import Continued, Ended, Event, Opened
from orchestrator.kernel.journal import read_journal
from orchestrator.storage.files import RunFile
from orchestrator.storage.sweep_record import Part, SweepRecord, read_sweep
from orchestrator.sweep.definition import Sweep


def record_to_resume(run_dir: Path) -> SweepRecord:
    """Return the record of a run that can be resumed.

    Raises:
        RunDirectoryError: ``run_dir`` contains none, or a replay.
    """
    record = read_sweep(run_dir)
    if record.replayed:
        raise RunDirectoryError(
            f"--resume {run_dir}: is a replay, which cannot be resumed", "start it again"
        )
    return record


def options_to_resume(given: Options, before: SweepRecord) -> Options:
    """Return the options of a resumed run: those given now, else those it was started with.

    Its search is the one that it was started with; see :func:`extension`.
    """
    options = replace(given, trials=None).resuming(before.options)
    return options if options.sweep_file else replace(options, sweep_file=Path(before.file))


def first_record(past: Sequence[Event], run_dir: Path) -> SweepRecord | None:
    """Return the record with which a run was started; None where nothing was journalled yet.

    Raises:
        RunDirectoryError: The journal does not begin with it.
    """
    if not past:
        return None
    if not isinstance(past[0], Opened):
        raise RunDirectoryError(
            f"--resume {run_dir}: its journal does not begin with the sweep", "start a new run"
        )
    return SweepRecord.from_json(past[0].sweep, f"--resume {run_dir}: its journal")


def events_of(run_dir: Path, now: SweepRecord) -> list[Event]:
    """Return the events of a run that is resumed; none of one that has not begun.

    Args:
        run_dir: The run directory.
        now: The sweep's question.

    Raises:
        RunDirectoryError: The run asked another question.
    """
    journal = run_dir / RunFile.JOURNAL
    past = list(read_journal(journal)) if journal.exists() else []
    if (before := first_record(past, run_dir)) is not None:
        require_same(now, before, "question", run_dir)
    return past


def require_same(now: SweepRecord, before: SweepRecord, part: Part, run_dir: Path) -> None:
    """Check that a part of the sweep is as it was when the run was started.

    Raises:
        RunDirectoryError: It has changed.
    """
    changes = now.changes(before, part)
    if changes:
        lines = [f"{name}: {then!r} then, {new!r} now" for name, (then, new) in changes.items()]
        raise RunDirectoryError(
            f"--resume {run_dir}: the sweep has changed since:\n  " + "\n  ".join(lines),
            "start a new run, or give the options and the sweep file that it was started with",
        )


def notes_of_changes(now: SweepRecord, before: SweepRecord) -> list[str]:
    """Return a note for each change that makes earlier trials incomparable with later ones."""
    changed = {
        "the trainable's source": now.source_hash != before.source_hash,
        "the data": now.data_fingerprint != before.data_fingerprint,
    }
    return [
        f"{what} has changed since this run was started: what has finished is kept as it is and "
        "not comparable with the rest; start a new run to measure all of it again"
        for what, has_changed in changed.items()
        if has_changed
    ]


def extension(trials: int | None, sweep: Sweep[Any], past: Sequence[Event]) -> int | None:
    """Return the configs to which a resumed search is extended; None if it is not extended.

    Args:
        trials: The configs asked for now, or None.
        sweep: The sweep as it was started.
        past: Events of the earlier processes.

    Raises:
        RunDirectoryError: The search has no number of configs, or had a larger one.
    """
    if trials is None:
        return None
    before = last_extension(past) or getattr(sweep.search, "trials", None)
    if before is None:
        raise RunDirectoryError(
            f"--trials {trials}: the run tries every config of its search, so there is nothing to "
            "extend it to",
            "leave --trials out, or start a new run",
        )
    if trials < before:
        raise RunDirectoryError(
            f"--trials {trials}: the run was asked for {before} configs",
            f"allowed: {before} or more; or start a new run",
        )
    return trials if trials > before else None


def last_extension(past: Sequence[Event]) -> int | None:
    """Return the configs that a run was extended to last; None where it never was."""
    extended = [event.trials for event in past if isinstance(event, Continued)]
    return next((trials for trials in reversed(extended) if trials is not None), None)


def has_ended(past: Sequence[Event]) -> bool:
    """Return True if the last process of a run came to the end."""
    last = past[-1] if past else None
    return isinstance(last, Ended) and last.exit_code == 0


def require_more(
    run_dir: Path, past: Sequence[Event], trials: int | None, limits: Limits, *, extends: bool
) -> None:
    """Check that a resumed run has something to do that it may do.

    Args:
        run_dir: The run directory.
        past: Events of the earlier processes, which ``limits`` has received.
        trials: Configs that the search is extended to, or None.
        limits: Knows what a budget has cut short.
        extends: True if its search can be extended.

    Raises:
        RunDirectoryError: A budget has ended the run and none is larger now, or its search cannot
            be extended.
    """
    if trials is not None and not extends:
        raise RunDirectoryError(
            f"--resume {run_dir} --trials {trials}: its search cannot be extended",
            "start a new run",
        )
    if has_ended(past) and trials is None and limits.is_cut:
        raise RunDirectoryError(
            f"--resume {run_dir}: {limits.cut_by} has ended this run",
            "give it more: a larger --time-budget or --core-hours",
        )
