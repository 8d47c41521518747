"""Inputs of the control loop: the trials of a sweep, a gate, folds of its events, trackers."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from orchestrator.kernel.events import Event, OfTrial
from orchestrator.kernel.executor import Deadline, Launch
from orchestrator.kernel.search import Proposal, Search
from orchestrator.trial import Report, Trial, TrialResult


class Fold:
    """A view of a sweep that is made of its events, one after the other.

    No call may raise for a reason outside the program, or wait for anything but a local disk: a
    sweep never fails or slows for a view of it.
    """

    def apply(self, event: Event) -> None:
        """Take an event that was journalled; ignore kinds that the view is not made of."""

    def tick(self) -> None:
        """Do regular work; called about twice a second, from the thread that calls ``apply``."""


class Tracker:
    """A user's view of the trials, for ``Sweep(trackers=[...])``; both methods may be left out.

    The driver calls them in one thread, one after the other, each once a run: a resumed run
    repeats no call. A tracker that raises is noted and called no more; ``--resume`` continues with
    the call that failed. A sweep file is imported by each trial too, so open nothing on import.

    Attributes:
        run_dir: The run directory, absolute; set before the first call.
    """

    run_dir: Path

    def report(self, trial: Trial, report: Report) -> None:
        """Take a report of a running trial.

        A trial that starts again reports again, from an earlier step on.
        """

    def finish(self, trial: Trial, result: TrialResult, reports: Sequence[Report]) -> None:
        """Take the end of a trial.

        It is called again where later trials show that a completed one is infeasible.

        Args:
            trial: The trial.
            result: State, reason and all figures of the trial.
            reports: Those of its reports that count.
        """


class Trials(Protocol):
    """The trials of a sweep."""

    def trial(self, proposal: Proposal) -> Trial:
        """Return the trial that answers ``proposal``."""

    def known(self, trial: Trial) -> Sequence[OfTrial]:
        """Return what an earlier run has measured for a trial: its events; () for nothing."""

    def unable(self, trial: Trial) -> TrialResult | None:
        """Return the result of a trial that cannot run here; None where it can."""

    def launch(self, trials: Sequence[Trial], deadline: Deadline | None) -> Launch:
        """Return what an executor runs: one trial, or several that share their cores.

        It is not started after ``deadline``.

        Raises:
            OSError: The run's temporary folder is full or missing.
        """

    def concluded(self, trial: Trial, result: TrialResult) -> TrialResult:
        """Return a result as its row has it.

        Raises:
            OSError: As for :meth:`launch`; the trial then has no row.
        """

    def found_infeasible(self, results: Mapping[str, TrialResult]) -> Mapping[str, TrialResult]:
        """Return the new results of completed trials that later ones show to be infeasible."""

    def observe(self, trial: Trial, report: Report) -> None:
        """Take a report of a running trial, or of one of an earlier process."""


class Gate:
    """Decision whether trials may start; this class lets all of them start. Budgets are another.

    Decisions of a gate depend on the clock. So it records each one as an event, which a
    resumed run reads from its journal.

    Attributes:
        restoring: True while a journal is repeated: nothing is decided by the clock then.
        record: Writes an event to the journal, and passes it on; set by the loop.
        search: The search that it may end early; set by the loop.
    """

    def __init__(self) -> None:
        self.restoring = False
        self.record: Callable[[Event], object] = lambda event: None
        self.search = Search()

    @property
    def has_more(self) -> bool:
        """Return True if the search was ended early, and may now continue."""
        return False

    def apply(self, event: Event) -> None:
        """Take an event of this process or of an earlier one."""

    def not_run(self, trial: Trial) -> TrialResult | None:
        """Return the row of a trial that may not start; None where it may."""
        return None

    def may_start(self, configs: Sequence[Mapping[str, Any]], *, kept_back: bool) -> bool:
        """Return True if there is room for runs that may be left out; see ``MayStart``."""
        return True

    def launched(self, trials: Sequence[Trial]) -> Deadline | None:
        """Take note of trials that are about to start; return when it is too late for that."""
        return None
