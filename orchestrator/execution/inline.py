"""The inline executor: one launch after the other, in the same kind of child as under Ray."""

from __future__ import annotations

import platform
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from orchestrator.execution.base import Conductor, Launch, Started
from orchestrator.execution.interleaving import Interleaving
from orchestrator.execution.leases import CoreLeases
from orchestrator.execution.placement import local_machine
from orchestrator.execution.process.fork_client import ForkServers, ServerError
from orchestrator.execution.supervision.supervisor import Supervisor
from orchestrator.machine import Machine
from orchestrator.search.base import Pause
from orchestrator.system.gpus import visible_gpus
from orchestrator.trial import Trial, TrialResult, TrialState

TICK_S = 0.25
LEASE_REPORT_S = 10.0
"""A trial that has waited so long for its cores is reported to be waiting."""


class InlineExecutor:
    """Runs trials on this machine, one at a time, without Ray."""

    def __init__(
        self,
        preload: Sequence[tuple[str, tuple[str, ...]]] = (),
        *,
        folder: Path | None = None,
    ) -> None:
        """Starts fork servers.

        Args:
            preload: Allocators and modules that they are for.
            folder: The driver's own, removed at the end with all that is in it, also where
                the driver has been killed. Default: a new private one.
        """
        self._servers = ForkServers(folder=folder)
        self._leases = CoreLeases()
        self._servers.warm(preload)

    def machine(self) -> Machine:
        """This machine."""
        return local_machine()

    def run(self, conductor: Conductor) -> None:
        """Runs everything that ``conductor`` hands out."""
        while not conductor.interrupted:
            launch = conductor.next_launch()
            if not isinstance(launch, Launch):
                assert not isinstance(launch, Pause), "nothing runs, so nothing can be waited for"
                return
            self._run_one(launch, conductor)

    def close(self) -> None:
        """Ends the fork servers."""
        self._servers.close()

    def _run_one(self, launch: Launch, conductor: Conductor) -> None:
        running = Interleaving(launch, self._leases, self._supervisor)
        left = list(launch.trials)
        try:
            if not self._wait_for_cores(running, launch, conductor):
                return
            if too_late := launch.not_run():
                _finish(left, too_late, conductor)
                return
            for trial, result in self._followed(running, launch, conductor):
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
        return Supervisor(
            launch,
            lambda: self._servers.socket_for(demand.allocator, launch.preload),
            leases=self._leases,
            gpus=gpus,
        )

    def _wait_for_cores(self, running: Interleaving, launch: Launch, conductor: Conductor) -> bool:
        """Waits as long as may be, saying so from time to time; False if interrupted."""
        began = said = time.monotonic()
        while not running.acquire_cores(timeout_s=TICK_S):
            conductor.tick()
            if conductor.interrupted:
                return False
            if launch.not_run():
                return True
            now = time.monotonic()
            if now - said >= LEASE_REPORT_S:
                said = now
                what = f"{launch.num_cores} cores that another sweep on this node has leased"
                for trial in launch.trials:
                    conductor.waiting(trial, now - began, what)
        return True

    def _followed(
        self, running: Interleaving, launch: Launch, conductor: Conductor
    ) -> Iterator[tuple[Trial, TrialResult]]:
        """Follows trials to their ends and yields what became of each, unless interrupted."""
        while not (conductor.interrupted or running.has_ended):
            heard = running.next_update(TICK_S)
            for note in running.take_notes():
                conductor.note(note)
            conductor.tick()
            if heard is None:
                continue
            trial, update = heard
            if isinstance(update, Started):
                conductor.started(
                    trial,
                    node=platform.node(),
                    cores=launch.num_cores,
                    restored_epochs=update.restored_epochs,
                )
            elif isinstance(update, TrialResult):
                yield trial, update
            elif conductor.reported(trial, update.report) and not launch.others:
                running.stop()
                yield trial, update.so_far
                return


def _finish(trials: list[Trial], result: TrialResult, conductor: Conductor) -> None:
    for trial in trials:
        conductor.finished(trial, result)
