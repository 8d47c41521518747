"""Launches in flight: handed out by the control loop, and not ended by Tune yet.

Tune calls everything here from its own loop, in one thread: there are no locks.
"""

import math
import time
from collections.abc import Callable, Container, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import ray
from ray.tune.experiment import Trial as RayTrial
from ray.tune.search import Searcher
from ray.tune.stopper import Stopper

from orchestrator.execution.in_flight import InFlight, Message
from orchestrator.execution.ray.watchdog import Abandoned
from orchestrator.kernel.executor import Conductor, Launch
from orchestrator.kernel.search import WAIT, Pause
from orchestrator.trial import TrialResult, TrialState

MAX_AHEAD = 2
"""Launches that wait without room. With none, cores would be idle. With one, Tune ends an actor
that it needs again at once whenever two trials end together. With more, a search that learns
would decide too early."""


class LaunchesInFlight(Searcher, Stopper):
    """The control loop's launches by the ids of Tune's trials, and their ends.

    Tune asks it for trials as its searcher, and several times a second as its stopper.
    """

    def __init__(
        self,
        conductor: Conductor,
        cluster: Mapping[str, float],
        way: Callable[[Launch], object],
        is_over: Callable[[], bool] = lambda: False,
        keep_up: Callable[[], None] = lambda: None,
    ) -> None:
        """Contain no launch yet.

        Args:
            conductor: The control loop.
            cluster: CPUs and GPUs of all nodes together, as Ray names them.
            way: Returns a launch's way to its fork server.
            is_over: Whether Ray has died, or Tune is abandoned: then nothing reaches the control
                loop, and each call from Tune raises :class:`Abandoned`.
            keep_up: Keeps up the fork servers.
        """
        super().__init__()
        self._conductor, self._cluster, self._way = conductor, cluster, way
        self._is_over, self._keep_up = is_over, keep_up
        self._launches: dict[str, InFlight] = {}
        # Those that are not queued: from the first message of their actors on.
        self._placed: dict[str, RayTrial] = {}
        self._to_repeat: list[Launch] = []
        self._is_exhausted = False

    # -- out to Tune

    def suggest(self, trial_id: str) -> Any:  # noqa: ANN401 - Tune's own mix
        """Return a config with the next launch; ``FINISHED``, or None to be asked again later."""
        self._require_life()
        launch = self._next_launch()
        if not isinstance(launch, Launch):
            return self.FINISHED if launch is None else None
        self._launches[trial_id] = InFlight(launch=launch)
        return {"launch": launch, "way": self._way(launch)}

    def _next_launch(self) -> Launch | Pause | None:
        if self._to_repeat:
            return self._to_repeat.pop(0)
        if not self._is_exhausted:
            launch = WAIT if self._has_enough_ahead() else self._conductor.next_launch()
            if launch is not None:
                return launch
            self._is_exhausted = True
        # After a last launch Tune would not ask again, and one of these may be repeated.
        return WAIT if self._launches else None

    def _has_enough_ahead(self) -> bool:
        """Return True if enough launches wait: as many as fill the cluster, and a few more."""
        launches = self._launches.values()
        num_waiting = sum(math.isinf(each.started_at) for each in launches)
        load = max(
            sum(each.launch.num_cores for each in launches) / self._cluster.get("CPU", 1.0),
            sum(each.launch.demand.gpus for each in launches) / self._cluster.get("GPU", 1.0),
        )
        return num_waiting > 0 and load >= 1 and (num_waiting >= MAX_AHEAD or load >= MAX_AHEAD)

    # -- back from Tune

    def take(self, ray_trial: RayTrial, message: Message) -> bool:
        """Take a message of an actor; return True if its trial is to stop."""
        self._require_life()
        flight = self._launches.get(ray_trial.trial_id)
        if flight is None:  # it was stopped or killed while this message was on its way
            return True
        self._placed[ray_trial.trial_id] = ray_trial
        is_to_stop = flight.deliver(message, self._conductor)
        if is_to_stop:
            # Not through Tune, which would end the actor: this ends the process alone.
            _actor_of(ray_trial).halt.remote()
        if not flight.unfinished:
            del self._launches[ray_trial.trial_id]
        return is_to_stop

    def fail(self, ray_trial: RayTrial) -> None:
        """Repeat the trials that a supervisor's death has ended, or make rows of them."""
        self._require_life()
        flight = self._launches.get(ray_trial.trial_id)
        if flight is None:
            return
        where = f" on {flight.node}" if flight.node else ""
        reason = f"the trial's supervisor{where} died: {cause(ray_trial.error_file)}"
        del self._launches[ray_trial.trial_id]
        if self._conductor.interrupted:  # they run again when it is resumed
            return
        if again := repeated(flight.launch, flight.unfinished):
            self._to_repeat.append(again)
            for trial in again.trials:
                failed = f"trial {trial.id[:6]} is tried again, since it failed: {reason}"
                self._conductor.note(failed)
        else:
            flight.end(TrialResult(state=TrialState.FAILED, reason=reason), self._conductor)

    def _require_life(self) -> None:
        """Require that Ray is alive: trials that end with it would otherwise be failed ones.

        Raises:
            Abandoned: Tune's thread is to end.
        """
        if self._is_over():
            raise Abandoned

    def on_trial_complete(
        self, trial_id: str, result: dict[str, Any] | None = None, error: bool = False
    ) -> None:
        """Do nothing: the scheduler passes it on."""

    def __getstate__(self) -> dict[str, Any]:
        """Return nothing: Tune pickles it for a restore that is not used."""
        return {}

    # -- whenever Tune's loop comes round

    def __call__(self, trial_id: str, result: dict[str, Any]) -> bool:
        """Stop no trial."""
        return False

    def stop_all(self) -> bool:
        """Report launches that wait; return True, with nothing running, if interrupted."""
        self._keep_up()
        self._require_life()
        self._report_unplaced()
        self._conductor.tick()
        if self._conductor.interrupted:
            for ray_id in self._launches.keys() & self._placed.keys():
                # An actor within a step takes no other call.
                if (actor := _actor_of(self._placed[ray_id])) is not None:
                    ray.kill(actor)
            self._launches.clear()
        return self._conductor.interrupted

    def _report_unplaced(self) -> None:
        """Report launches that Ray could not place yet, with what they wait for.

        A launch behind a running trial of the same sweep is queued; it does not wait.
        """
        queued = [each for ray_id, each in self._launches.items() if ray_id not in self._placed]
        for flight in queued:
            if len(queued) < len(self._launches):
                flight.waits_from = time.monotonic()
            elif flight.waits_long():
                launch, free = flight.launch, ray.available_resources()
                nodes = launch.demand.nodes
                where = "one node" if nodes == 1 else f"each of {nodes} nodes"
                asked = f"{launch.num_cores} CPU and {launch.demand.gpus / nodes:g} GPU on {where}"
                left = f"{free.get('CPU', 0):g} CPU and {free.get('GPU', 0):g} GPU are free"
                self._require_life()  # to ask for the resources may have taken long
                what = f"{asked} of the Ray cluster, of which {left}"
                flight.report_wait(what, self._conductor)


def _actor_of(ray_trial: RayTrial) -> Any:  # noqa: ANN401 - an actor's handle, or None
    return ray_trial.temporary_state.ray_actor


def repeated(launch: Launch, unfinished: Container[str]) -> Launch | None:
    """Return a launch of the unfinished trials, one attempt more; None after the last one."""
    left = [each for each in launch.each() if each.trial.id in unfinished]
    if any(each.retries < 1 for each in left):
        return None
    first, *others = (
        replace(each, retries=each.retries - 1, failed_attempts=each.failed_attempts + 1)
        for each in left
    )
    return replace(first, others=tuple(others))


def cause(error_file: str | None) -> str:
    """Return the last line of an actor's error, as Tune has written it, without Ray's advice."""
    path = Path(error_file or "")
    lines = path.read_text(errors="replace").strip().splitlines() if path.is_file() else []
    return lines[-1].partition(" There are some potential root causes")[0] if lines else "unknown"
