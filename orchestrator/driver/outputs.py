"""Files of a run besides the journal: the outputs of trials, and the times of steps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import cast

from orchestrator.execution.process.fork_client import output_of
from orchestrator.kernel.events import BlockRow, Ended, Event, Finished, Reported, Started, Timed
from orchestrator.kernel.executor import log_in
from orchestrator.kernel.journal import Journal
from orchestrator.kernel.parts import Fold
from orchestrator.storage.files import RunFile
from orchestrator.trial import TrialResult, TrialState


class Outputs(Fold):
    """Fold that keeps the outputs of trials.

    Args:
        run_dir: The run directory.
        scratch: The driver's folder for trials, where a trial of this machine has its output.
        note: Takes a note for the user.
    """

    def __init__(self, run_dir: Path, scratch: Path, note: Callable[[str], None]) -> None:
        self._note = note
        self._folder = run_dir / RunFile.OUTPUT
        self._scratch = scratch

    def apply(self, event: Event) -> None:
        """Keep the output of a trial that has ended."""
        if isinstance(event, Finished) and (note := self.keep(event.trial_id, event.result)):
            self._note(note)

    def keep(self, trial_id: str, result: TrialResult) -> str:
        """Keep the output of a trial that has ended; return a note if that is not possible."""
        text = result.output
        if not text and result.state is TrialState.STOPPED:  # its supervisor was not asked for it
            text = output_of(log_in(self._scratch, trial_id))
        if not text:
            return ""
        try:
            self._folder.mkdir(exist_ok=True)
            (self._folder / f"{trial_id}.txt").write_bytes(text.encode(errors="replace"))
        except OSError as error:
            return f"output of trials cannot be kept in {self._folder}: {error.strerror or error}"
        return ""


class StepTimes(Fold):
    """The times of steps, in a file separate from the journal: ``steps.jsonl``.

    Args:
        journal: The journal; the file is in its folder.
    """

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._file: Journal | None = None

    def apply(self, event: Event) -> None:
        """Write the start of a trial's process, and the blocks of its reports and its result."""
        if isinstance(event, Started):
            self._write(Started(trial_id=event.trial_id))
        elif isinstance(event, Reported):
            self._write_blocks(event.trial_id, event.report.blocks)
        elif isinstance(event, Finished):
            self._write_blocks(event.trial_id, event.result.blocks)
        elif isinstance(event, Ended) and self._file is not None:
            self._file.close()

    def _write_blocks(self, trial_id: str, blocks: Sequence[Sequence[float]]) -> None:
        if blocks:
            self._write(Timed(trial_id=trial_id, blocks=cast("Sequence[BlockRow]", blocks)))

    def _write(self, event: Event) -> None:
        if self._file is None:
            path = self._journal.path.parent / RunFile.STEPS
            self._file = Journal(path, now=self._journal.now)
        self._file.append(event)
