"""Inline executor: one launch after another, in the same kind of processes as under Ray."""

from __future__ import annotations

import platform
import time
from collections.abc import Iterator, Sequence

from orchestrator.execution.interleaving import Interleaving
from orchestrator.execution.leases import CoreLeases
from orchestrator.execution.placement import local_machine
from orchestrator.execution.process.fork_client import ServerError
from orchestrator.execution.process.fork_servers import ForkServers
from orchestrator.execution.supervision.attempt import Host
from orchestrator.execution.supervision.supervisor import Supervisor
from orchestrator.kernel.executor import Conductor, Executor, Launch, Started
from orchestrator.kernel.search import Pause
from orchestrator.machine import Machine
from orchestrator.system.gpus import visible_gpus
from orchestrator.trial import Trial, TrialResult, TrialState

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
        each = demand.gpus // demand.ranks
        free = [gpu.uuid for gpu in visible_gpus()] if demand.gpus else []
        gpus = [free[rank * each : (rank + 1) * each] for rank in range(demand.ranks)]
        host = Host(
            leases=self._leases,
            server=lambda: self._servers.socket_for(demand.allocator, launch.preload),
            gpus=gpus,
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
