"""Local executor: short trials in the driver's own supervisor, and Ray Tune once one is not short.

Ray takes seconds to start, and a Ray actor two more. A trial that is over within half a second
needs neither: trials run one after another here until one takes longer. Then Ray is started, and
that trial begins again as Ray's first. So nothing is measured while Ray starts.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from importlib import import_module
from threading import Thread
from typing import Any, cast

from orchestrator.errors import SweepError
from orchestrator.execution.inline import InlineExecutor
from orchestrator.kernel.executor import SHORT_S, Conductor, Executor, ExecutorLost, Launch
from orchestrator.kernel.search import Pause
from orchestrator.machine import Machine
from orchestrator.trial import Report, Stage, Trial, TrialResult


class LocalExecutor(Executor):
    """Runs trials on this machine: short ones one at a time, with Ray from the first long one."""

    def __init__(
        self, inline: InlineExecutor, start_ray: Callable[[], Executor], *, imports: Sequence[str]
    ) -> None:
        """Start nothing of Ray yet.

        Args:
            inline: Runs the short trials.
            start_ray: Starts Ray, and returns its executor.
            imports: Modules that are needed later, imported in a thread meanwhile.
        """
        self._inline = inline
        self._start_ray = start_ray
        self._ray: Executor | None = None
        Thread(target=_import_all, args=(imports,), daemon=True).start()

    def machine(self) -> Machine:
        """Return this machine."""
        return self._inline.machine()

    def run(self, conductor: Conductor) -> None:
        """Run everything that ``conductor`` hands out.

        Raises:
            ExecutorLost: Ray does not start, or one of its processes has died.
        """
        short = _ShortFirst(conductor)
        self._inline.run(cast("Conductor", short))
        if short.left is None or conductor.interrupted:
            return
        if short.is_reported:
            trial = short.left.trial.id[:6]
            conductor.note(f"trial {trial} takes longer than {SHORT_S:g} s: Ray begins it again")
        try:
            self._ray = self._start_ray()
        except SweepError as error:
            raise ExecutorLost(error.message) from error
        self._ray.run(cast("Conductor", _From(short.left, conductor)))

    def close(self) -> None:
        """End the fork servers, and Ray if it was started."""
        if self._ray is not None:
            self._ray.close()
        self._inline.close()


class _PassedOn:
    """A conductor that passes everything on to another."""

    def __init__(self, conductor: Conductor) -> None:
        self._conductor = conductor

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - whatever the other has
        return getattr(self._conductor, name)


class _ShortFirst(_PassedOn):
    """Hands out launches as long as they are short.

    A start is reported with the first report or result: without one, Ray reports it.

    Attributes:
        left: The launch that is not short: it was not handed out, or has not ended yet.
        is_reported: True where its start was reported.
    """

    def __init__(self, conductor: Conductor) -> None:
        super().__init__(conductor)
        self.left: Launch | None = None
        self.is_reported = False
        self._since = float("inf")
        self._start: Callable[[], None] | None = None

    @property
    def interrupted(self) -> bool:
        """Return True also if a launch takes long: its executor then abandons it."""
        return self._conductor.interrupted or time.monotonic() >= self._since + SHORT_S

    def next_launch(self) -> Launch | Pause | None:
        launch = self._conductor.next_launch()
        if not isinstance(launch, Launch):
            return launch
        self.left, self.is_reported = launch, False
        return launch if _may_be_short(launch) else None

    def started(self, trial: Trial, *, node: str, cores: int, restored_epochs: int = 0) -> None:
        self._since = min(self._since, time.monotonic())
        tell = self._conductor.started
        self._start = partial(tell, trial, node=node, cores=cores, restored_epochs=restored_epochs)

    def reported(self, trial: Trial, report: Report) -> bool:
        self._report_start()
        return self._conductor.reported(trial, report)

    def finished(self, trial: Trial, result: TrialResult) -> None:
        self._report_start()
        self.left, self._since = None, float("inf")
        self._conductor.finished(trial, result)

    def note(self, text: str) -> None:
        # For example, the trial is retried: another start of it will be reported.
        self._report_start()
        self._conductor.note(text)

    def _report_start(self) -> None:
        tell, self._start = self._start, None
        if tell is not None:
            self.is_reported = True
            tell()


class _From(_PassedOn):
    """Hands out a launch first, then the launches of the conductor."""

    def __init__(self, launch: Launch, conductor: Conductor) -> None:
        super().__init__(conductor)
        self._first: Launch | None = launch

    def next_launch(self) -> Launch | Pause | None:
        launch, self._first = self._first, None
        return launch or self._conductor.next_launch()


def _may_be_short(launch: Launch) -> bool:
    """Return False for a launch that takes long to start, or is to run co-located."""
    demand, trial = launch.demand, launch.trial
    is_beside_others = trial.stage is Stage.PROBE and not trial.isolated
    return not (launch.others or demand.gpus or demand.ranks > 1 or is_beside_others)


def _import_all(modules: Sequence[str]) -> None:
    with suppress(Exception):  # its user imports it again, and reports the error
        for module in modules:
            import_module(module)
