"""Inline executor: one launch after another; local executor: short trials by it, others by Ray.

Ray takes seconds to start, and a Ray actor two more. A trial that is over within half a second
needs neither: trials run one after another here until one takes longer. Then Ray is started, and
that trial begins again as Ray's first. So nothing is measured while Ray starts.
"""

import math
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from importlib import import_module
from threading import Thread
from typing import Any, cast

from orchestrator.errors import SweepError
from orchestrator.execution.in_flight import InFlight
from orchestrator.execution.interleaving import Interleaving
from orchestrator.execution.leases import CoreLeases
from orchestrator.execution.placement import local_machine
from orchestrator.execution.process.fork_client import ServerError
from orchestrator.execution.process.fork_servers import ForkServers
from orchestrator.execution.process.ranks import gpus_of_ranks
from orchestrator.execution.supervision.attempt import Host
from orchestrator.kernel.executor import SHORT_S, Conductor, Executor, ExecutorLost, Launch
from orchestrator.kernel.search import Pause
from orchestrator.machine import Machine
from orchestrator.system.gpus import visible_gpus
from orchestrator.trial import Stage, TrialResult, TrialState

TICK_S = 0.25
"""Longest time between two calls of the conductor's ``tick``."""


class InlineExecutor(Executor):
    """Runs launches on this machine, one at a time, without Ray."""

    def __init__(self, servers: ForkServers) -> None:
        """Fork trials from ``servers``, which end with the executor."""
        self._servers = servers
        self._leases = CoreLeases()

    def machine(self) -> Machine:
        """Return this machine."""
        return local_machine()

    def run(self, conductor: Conductor) -> None:
        """Run everything that ``conductor`` hands out."""
        self._run(conductor)

    def close(self) -> None:
        """End the fork servers."""
        self._servers.close()

    def _run(self, conductor: Conductor, most_s: float = math.inf) -> Launch | None:
        """Run launches one after another; return the first that takes longer, which has no rows.

        Args:
            conductor: The control loop.
            most_s: Longest duration from a launch's start.
        """
        while not conductor.interrupted:
            launch = conductor.next_launch()
            if not isinstance(launch, Launch):
                assert not isinstance(launch, Pause), "nothing runs, so nothing can be waited for"
                return None
            if not (math.isinf(most_s) or _may_be_short(launch)):
                return launch
            if not self._run_one(launch, conductor, most_s):
                return launch
        return None

    def _run_one(self, launch: Launch, conductor: Conductor, most_s: float) -> bool:
        """Run a launch; return False where it took too long and was abandoned."""
        demand = launch.demand
        free = [gpu.uuid for gpu in visible_gpus()][: math.ceil(demand.gpus)] if demand.gpus else []
        host = Host(
            leases=self._leases,
            server=lambda each: self._servers.socket_for(each.demand.allocator, each.preload),
            gpus=gpus_of_ranks([free], demand.ranks),
        )
        running, flight = Interleaving(launch, host), InFlight(launch=launch)
        try:
            while flight.unfinished and not conductor.interrupted:
                if time.monotonic() >= flight.started_at + most_s:
                    return False
                message = running.next_message(TICK_S)
                conductor.tick()
                if flight.deliver(message, conductor):
                    running.stop()
        except (ServerError, LookupError) as error:
            row = TrialResult(state=TrialState.FAILED, reason=str(error))
            flight.end(row, conductor)
        finally:
            running.close()
        return True


class LocalExecutor(InlineExecutor):
    """Runs trials on this machine: short ones one at a time, with Ray from the first long one."""

    def __init__(
        self, servers: ForkServers, start_ray: Callable[[], Executor], *, imports: Sequence[str]
    ) -> None:
        """Start nothing of Ray yet.

        Args:
            servers: Fork servers.
            start_ray: Starts Ray, and returns its executor.
            imports: Modules that are needed later, imported in a thread meanwhile.
        """
        super().__init__(servers)
        self._start_ray = start_ray
        self._ray: Executor | None = None
        Thread(target=_import_all, args=(imports,), daemon=True).start()

    def run(self, conductor: Conductor) -> None:
        """Run everything that ``conductor`` hands out.

        Raises:
            ExecutorLost: Ray does not start, or one of its processes has died.
        """
        first = self._run(conductor, SHORT_S)
        if first is None or conductor.interrupted:
            return
        try:
            self._ray = self._start_ray()
        except SweepError as error:
            raise ExecutorLost(error.message) from error
        if not conductor.interrupted:
            self._ray.run(cast("Conductor", _BeginningWith(first, conductor)))

    def close(self) -> None:
        """End the fork servers, and Ray if it was started."""
        if self._ray is not None:
            self._ray.close()
        super().close()


class _BeginningWith:
    """A conductor that hands out one launch before those of another conductor."""

    def __init__(self, first: Launch, conductor: Conductor) -> None:
        self._first: Launch | None = first
        self._conductor = conductor

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - whatever the conductor has
        return getattr(self._conductor, name)

    def next_launch(self) -> Launch | Pause | None:
        first, self._first = self._first, None
        return first or self._conductor.next_launch()


def _may_be_short(launch: Launch) -> bool:
    """Return False for a launch that takes long to start, or is to run co-located."""
    demand, trial = launch.demand, launch.trial
    is_beside_others = trial.stage is Stage.PROBE and not trial.isolated
    return not (launch.others or demand.gpus or demand.ranks > 1 or is_beside_others)


def _import_all(modules: Sequence[str]) -> None:
    with suppress(Exception):  # its user imports it again, and reports the error
        for module in modules:
            import_module(module)
