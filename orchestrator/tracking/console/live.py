"""The console's tracker: lines that stay, and on a terminal a view that is drawn on each tick."""

import atexit
import os
import sys
import time
from collections.abc import Callable, Iterable
from typing import TextIO

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from orchestrator.formats import clock, counted
from orchestrator.kernel.events import Ended, Event, Finished, Noted, Started, Waiting
from orchestrator.kernel.executor import steady_time
from orchestrator.kernel.parts import Fold
from orchestrator.storage.history import SweepHistory, TrialHistory
from orchestrator.texts import bounded
from orchestrator.tracking.console import words
from orchestrator.tracking.console.view import Progress, block, num_occupied
from orchestrator.trial import TrialState

_SHARE_OF_TIME = 0.05
"""Share of the driver's time that looking for the best config may take."""
WAIT_LINE_S = 180.0
"""A trial that waits has a line this often."""


class Lines(Fold):
    """A sweep as lines: one for each start, end, note and new phase.

    On a terminal starts and waits are in a view below the lines instead. It is drawn on ticks
    only, so that it costs the trials next to nothing, and disappears at the end, when the summary
    takes its place. What else is written to standard output or error meanwhile, such as a
    library's warning, comes above it as well. A notebook's cell and a terminal that cannot move its
    cursor have no view.

    Args:
        stream: The stream to write to. Default: standard output.
        past: Events of earlier processes, which are counted and not shown.
        now: Unix time now, of the run's clock.
        find_best: Returns a line on the best config so far, for the view; it may take some tens of
            milliseconds.
    """

    def __init__(
        self,
        stream: TextIO | None = None,
        *,
        past: Iterable[Event] = (),
        now: Callable[[], float] = steady_time,
        find_best: Callable[[SweepHistory], str] = lambda _: "",
    ) -> None:
        self._stream = stream or sys.stdout
        # The output of a notebook's cells looks like a terminal.
        is_notebook = "JPY_PARENT_PID" in os.environ
        has_cursor = self._stream.isatty() and os.environ.get("TERM", "dumb") != "dumb"
        self._console = Console(file=self._stream, highlight=False, force_terminal=True)
        self._live: Live | None = None
        if has_cursor and not is_notebook:
            self._live = Live(
                console=self._console, auto_refresh=False, transient=True, vertical_overflow="crop"
            )
        self._began, self._now = time.monotonic(), now
        self._once = {("phase", words.SEARCH)}
        self._history = SweepHistory()
        for event in past:
            self._history.apply(event)
        self._interrupt = ""
        self._most_running = 0
        self._find_best = find_best
        self._best = ""
        self._is_stale = False  # finding the best imports the analysis: not before a trial's end
        self._find_at = 0.0

    def apply(self, event: Event) -> None:
        """Show an event."""
        trial = self._history.apply(event)
        self.tick()
        match event:
            case Noted():
                self.note(event.text)
            case Ended():
                self.close(event.exit_code)
            case _ if trial is not None and self._history.has_begun:
                if len(self._history.running) > self._most_running:  # else it need not be counted
                    self._most_running = max(self._most_running, num_occupied(self._history))
                self._happened(event, trial)

    def tick(self) -> None:
        """Show the first lines, once, and an interrupt; draw the view."""
        if not self._history.has_begun:
            return
        if self._is_first("header", ""):
            self._header()
        if self._interrupt:
            self.note(self._interrupt)
        if self._live is not None and self._live.is_started:
            self._draw(self._live)

    def note(self, text: str) -> None:
        """Write something that the user should know, once, with a mark to search for."""
        if self._is_first("note", text):
            self._write(f"! {bounded(text)}", style=words.NOTE)

    def interrupted(self, text: str) -> None:
        """Take what to show of an interrupt, at the next event or tick.

        A signal's handler may call it: nothing is written here, since the signal may have come
        amid another write.
        """
        self._interrupt = text

    def phase(self, text: str) -> None:
        """Write what is done after the last trial."""
        self._write(text)

    def close(self, exit_code: int) -> list[str]:
        """Take the view away: no trial runs any more."""
        if self._live is not None:
            self._live.stop()
            atexit.unregister(self._live.stop)
        self._stream.flush()
        return []

    # -- lines

    def _header(self) -> None:
        """Write what is run, and how much of it an earlier process has done; start the view."""
        sweep, num_done = self._history.sweep, self._history.num_concluded
        num_all = self._history.num_expected
        parts = [
            f"{sweep.trainable} on {sweep.data}" if sweep.data else sweep.trainable,
            "trials as the search asks" if num_all is None else counted(num_all, "trial"),
            f"{counted(sweep.cores_per_trial, 'core')} a trial",
            f"seed {sweep.seed}",
        ]
        self._write(f"{sweep.name}: {', '.join(parts)}", style=words.BOLD)
        if baseline := words.settings(sweep.baseline, sweep.space):
            meaning = "(a trial's line names what differs)"
            self._write(f"baseline: {baseline[0]}", *baseline[1:], meaning)
        if num_done:
            self._write(f"resumed: {counted(num_done, 'trial')} done before")
        if self._live is not None:
            self._is_stale = num_done > 0
            self._live.start()
            atexit.register(self._live.stop)  # a driver that dies of an error leaves a cursor

    def _happened(self, event: Event, trial: TrialHistory) -> None:
        """Write a line for a start, an end, a wait; and for a phase's first trial one before.

        The view has no starts and waits, and of configs that cannot run one line a reason.
        """
        history, has_view = self._history, self._live is not None
        phase = words.phase_of_trial(trial.trial, history.sweep)
        named = words.label_of(trial), *words.differing(trial.trial.config, history.sweep)
        if self._is_first("phase", phase):
            self._write(f"phase: {phase}")
        num_all = history.num_expected
        width = max(5 * (not has_view), 2 * len(str(num_all or "")) + 1)  # ids below each other
        match event:
            case Waiting() if not has_view:
                if self._is_first(trial.trial.id, str(event.seconds // WAIT_LINE_S)):
                    self._write(f"! {words.wait(trial)}", style=words.NOTE)
            case Started() if not has_view:
                self._write(f"{'start':{width}}", *named)
            case Finished():
                self._is_stale, state = True, event.result.state
                may_repeat = state not in (TrialState.INFEASIBLE, TrialState.NOT_RUN)
                if not self._is_first(state, event.result.reason) and has_view and not may_repeat:
                    return
                of = "" if num_all is None else f"/{num_all}"
                count = f"{history.num_concluded}{of}"
                parts = (f"{count:{width}}", *named, *words.outcome(trial, history))
                word = state if state in words.TRAINED else ""
                self._write(*parts, style=words.COLOURS[state], word=word)

    def _is_first(self, what: str, which: str) -> bool:
        is_first = (what, which) not in self._once
        self._once.add((what, which))
        return is_first

    def _write(self, *parts: str, style: str = "", word: str = "") -> None:
        """Write a line with the time so far; ``style`` applies to ``word``, or to all."""
        at, text = f"{clock(time.monotonic() - self._began):>7}", "  ".join(parts)
        if self._live is None:
            self._stream.write(f"{at}  {text}\n")
            self._stream.flush()
            return
        shown = Text(text, style="" if word else style, overflow="fold")
        if word:
            shown.highlight_words([f"  {word}  "], style)
        row = Table.grid(padding=(0, 2))
        row.add_row(Text(at, style=words.QUIET), shown)
        self._console.print(row)

    # -- the view

    def _draw(self, live: Live) -> None:
        if self._is_stale and time.monotonic() >= self._find_at:
            self._find()
        most, is_stopping = self._most_running, bool(self._interrupt)
        now = Progress(self._history, self._now(), most_running=most, is_stopping=is_stopping)
        width, elapsed_s = self._console.width, time.monotonic() - self._began
        view = block(now, self._best, elapsed_s=elapsed_s, width=width)
        live.update(Group(*view), refresh=True)

    def _find(self) -> None:
        """Find the best config again; that takes at most one twentieth of the time."""
        began, self._is_stale = time.monotonic(), False
        try:
            self._best = self._find_best(self._history)
        except Exception as error:  # noqa: BLE001 - a view ends no sweep
            self.note(f"the best so far is not known: {type(error).__name__}: {error}")
            self._best, self._find_best = "", lambda _: ""
        ended = time.monotonic()
        if self._find_at:  # the first one imports the analysis
            self._find_at = ended + (ended - began) / _SHARE_OF_TIME
        self._find_at = self._find_at or ended
