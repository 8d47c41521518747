"""Plain lines for a file, a pipe, or a terminal that cannot move its cursor."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import TextIO

from orchestrator.formats import clock
from orchestrator.kernel.events import Event
from orchestrator.storage.history import SweepHistory, TrialHistory
from orchestrator.tracking.console.log import Line, Log, note


class Lines:
    """A view of lines that stay, one for each start as well, since nothing else shows it."""

    def __init__(self, stream: TextIO, *, starts: bool = True) -> None:
        self._stream = stream
        self._began = time.monotonic()
        self._log = Log(starts=starts)

    def header(self, history: SweepHistory) -> None:
        """Write what is run."""
        self._write(self._log.header(history))

    def happened(self, event: Event, trial: TrialHistory, history: SweepHistory) -> None:
        """Write the lines of an event of a trial."""
        self._write(self._log.happened(event, trial, history))

    def note(self, text: str) -> None:
        """Write something that the user should know."""
        self._write([note(text)])

    def refresh(self, history: SweepHistory) -> None:
        """Bring the view up to date, about twice a second; lines come with events."""

    def stopping(self, text: str) -> None:
        """Write that the sweep was interrupted, and what happens now."""
        self.note(text)

    def phase(self, text: str) -> None:
        """Write what is done after the last trial."""
        self._write([Line(parts=(text,))])

    def close(self) -> None:
        """Flush the stream: no trial runs any more."""
        self._stream.flush()

    def _write(self, lines: Iterable[Line]) -> None:
        elapsed = clock(time.monotonic() - self._began)
        for line in lines:
            text = f"{elapsed:>7}  {'  '.join(line.parts)}\n"
            encoding = self._stream.encoding or "utf-8"
            self._stream.write(text.encode(encoding, "replace").decode(encoding))
        self._stream.flush()
