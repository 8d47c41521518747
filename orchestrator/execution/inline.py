"""Inline executor: one launch after another; local executor: short trials by it, others by Ray.

Ray takes seconds to start, and a Ray actor two more. A trial that is over within half a second
needs neither: trials run one after another here until one takes longer. Then Ray is started, and
that trial begins again as Ray's first. So nothing is measured while Ray starts.
"""

from __future__ import annotations

import platform
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from importlib import import_module
from threading import Thread
from typing import Any, cast

from orchestrator.errors import SweepError
from orchestrator.execution.interleaving import Interleaving
from orchestrator.execution.leases import CoreLeases
from orchestrator.execution.placement import gpus_of_ranks, local_machine
from orchestrator.execution.process.fork_client import ServerError
from orchestrator.execution.process.fork_servers import ForkServers
from orchestrator.execution.supervision.attempt import Host
from orchestrator.execution.supervision.supervisor import Supervisor
from orchestrator.kernel.executor import (
    SHORT_S,
    Conductor,
    Executor,
    ExecutorLost,
    Launch,
    Started,
)
from orchestrator.kernel.search import Pause
from orchestrator.machine import Machine
from orchestrator.system.gpus import visible_gpus
from orchestrator.trial import Report, Stage, Trial, TrialResult, TrialState

TICK_S = 0.25
"""Longest time between two calls of the conductor's ``tick``."""
FIRST_LEASE_REPORT_S, LEASE_REPORT_S = 2.0, 10.0
"""Time after which a trial that waits for its cores is first reported, and reported again."""


class InlineExecutor(Executor):
    """Runs launches on this machine, one at a time, without Ray."""

    def __init__(
        self,
        preload: Sequence[tuple[str, tuple[str, ...]]] = (),
        *,
        servers: ForkServers | None = None,
    ) -> None:
        """Start fork servers.

        Args:
            preload: Allocators and modules of the servers.
            servers: Its fork servers, which may have been started before. Default: new ones.
        """
        self._servers = servers or ForkServers()
        self._leases = CoreLeases()
        # Not waited for: they import while the sweep is prepared.
        self._servers.warm(preload)

    def machine(self) -> Machine:
        """Return this machine."""
        return local_machine()

    def run(self, conductor: Conductor) -> None:
        """Run everything that ``conductor`` hands out."""
        while not conductor.interrupted:
            launch = conductor.next_launch()
            if not isinstance(launch, Launch):
                assert not isinstance(launch, Pause), "nothing runs, so nothing can be waited for"
                return
            self._run_one(launch, conductor)

    def close(self) -> None:
        """End the fork servers."""
        self._servers.close()

    def _run_one(self, launch: Launch, conductor: Conductor) -> None:
        running = Interleaving(launch, self._leases, self._supervisor)
        left = list(launch.trials)
        try:
            if not self._wait_for_cores(running, launch, conductor):
                return
            # The time budget may have run out while the launch waited for cores.
            if too_late := launch.not_run():
                _finish(left, too_late, conductor)
                return
            for trial, result in self._follow(running, launch, conductor):
                left.remove(trial)
                conductor.finished(trial, result)
        except (ServerError, LookupError) as error:
            failed = TrialResult(state=TrialState.FAILED, reason=str(error))
            _finish(left, failed, conductor)
        finally:
            running.close()

    def _supervisor(self, launch: Launch) -> Supervisor:
        demand = launch.demand
        free = [gpu.uuid for gpu in visible_gpus()][: demand.gpus] if demand.gpus else []
        host = Host(
            leases=self._leases,
            server=lambda: self._servers.socket_for(demand.allocator, launch.preload),
            gpus=gpus_of_ranks([free], demand.ranks),
        )
        return Supervisor(launch, host)

    def _wait_for_cores(self, running: Interleaving, launch: Launch, conductor: Conductor) -> bool:
        """Wait for the cores of a launch; return False if interrupted.

        It also returns past the time budget, without cores: the launch is then not run.
        """
        began = time.monotonic()
        report_at = began + min(FIRST_LEASE_REPORT_S, LEASE_REPORT_S)
        while not running.acquire_cores(timeout_s=TICK_S):
            conductor.tick()
            if conductor.interrupted:
                # Without a row: the trials run when the sweep is resumed.
                return False
            if launch.not_run():
                return True
            now = time.monotonic()
            if now >= report_at:
                report_at = now + LEASE_REPORT_S
                what = self._leases.what_for(launch.num_cores)
                for trial in launch.trials:
                    conductor.waiting(trial, now - began, what)
        return True

    def _follow(
        self, running: Interleaving, launch: Launch, conductor: Conductor
    ) -> Iterator[tuple[Trial, TrialResult]]:
        """Yield each trial's row as it ends; return early if interrupted."""
        while not (conductor.interrupted or running.has_ended):
            news = running.next_update(TICK_S)
            for note in running.take_notes():
                conductor.note(note)
            conductor.tick()
            if news is None:
                continue
            trial, update = news
            if isinstance(update, Started):
                conductor.started(
                    trial,
                    node=platform.node(),
                    cores=launch.num_cores,
                    restored_epochs=update.restored_epochs,
                )
            elif isinstance(update, TrialResult):
                yield trial, update
            # A stop ends the whole launch, so interleaved trials are not stopped.
            elif conductor.reported(trial, update.report) and not launch.others:
                running.stop()
                yield trial, update.so_far
                return


def _finish(trials: list[Trial], result: TrialResult, conductor: Conductor) -> None:
    """End trials with the same row."""
    for trial in trials:
        conductor.finished(trial, result)


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
        handover = _Handover(conductor)
        self._inline.run(cast("Conductor", handover))
        if handover.left is None or conductor.interrupted:
            return
        if handover.is_reported:
            trial = handover.left.trial.id[:6]
            conductor.note(f"trial {trial} takes longer than {SHORT_S:g} s: Ray begins it again")
        try:
            self._ray = self._start_ray()
        except SweepError as error:
            raise ExecutorLost(error.message) from error
        handover.pass_to_ray()
        self._ray.run(cast("Conductor", handover))

    def close(self) -> None:
        """End the fork servers, and Ray if it was started."""
        if self._ray is not None:
            self._ray.close()
        self._inline.close()


class _Handover:
    """The conductor of the inline executor while launches are short, then that of Ray.

    Inline, a start is reported with the first report or result: without one, Ray reports it.

    Attributes:
        left: The launch that is not short: it was not handed out, or has not ended yet.
        is_reported: True where its start was reported.
    """

    def __init__(self, conductor: Conductor) -> None:
        self._conductor = conductor
        self._is_inline = True
        self.left: Launch | None = None
        self.is_reported = False
        self._since = float("inf")
        self._start: Callable[[], None] | None = None

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - whatever the conductor has
        return getattr(self._conductor, name)

    @property
    def interrupted(self) -> bool:
        """Return True also if a launch takes long inline: its executor then abandons it."""
        return self._conductor.interrupted or time.monotonic() >= self._since + SHORT_S

    def pass_to_ray(self) -> None:
        """Hand out the launch that is left, then all others, long ones included."""
        self._is_inline, self._since, self._start = False, float("inf"), None

    def next_launch(self) -> Launch | Pause | None:
        if not self._is_inline:
            left, self.left = self.left, None
            return left or self._conductor.next_launch()
        launch = self._conductor.next_launch()
        if not isinstance(launch, Launch):
            return launch
        self.left, self.is_reported = launch, False
        return launch if _may_be_short(launch) else None

    def started(self, trial: Trial, *, node: str, cores: int, restored_epochs: int = 0) -> None:
        tell = self._conductor.started
        start = partial(tell, trial, node=node, cores=cores, restored_epochs=restored_epochs)
        if self._is_inline:
            self._since, self._start = min(self._since, time.monotonic()), start
        else:
            start()

    def reported(self, trial: Trial, report: Report) -> bool:
        self._report_start()
        return self._conductor.reported(trial, report)

    def finished(self, trial: Trial, result: TrialResult) -> None:
        self._report_start()
        if self._is_inline:
            self.left, self._since = None, float("inf")
        self._conductor.finished(trial, result)

    def note(self, text: str) -> None:
        # For example, the trial is retried: another start of it will be reported.
        self._report_start()
        self._conductor.note(text)

    def _report_start(self) -> None:
        start, self._start = self._start, None
        if start is not None:
            self.is_reported = True
            start()


def _may_be_short(launch: Launch) -> bool:
    """Return False for a launch that takes long to start, or is to run co-located."""
    demand, trial = launch.demand, launch.trial
    is_beside_others = trial.stage is Stage.PROBE and not trial.isolated
    return not (launch.others or demand.gpus or demand.ranks > 1 or is_beside_others)


def _import_all(modules: Sequence[str]) -> None:
    with suppress(Exception):  # its user imports it again, and reports the error
        for module in modules:
            import_module(module)
