"""What a freshly forked process does: find its place, train, say how it ended."""

from __future__ import annotations

import importlib
import json
import os
import random
import signal
import sys
import traceback
from collections.abc import Mapping
from multiprocessing.connection import Connection
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn

from orchestrator.data import PreparedData, find_data
from orchestrator.errors import DataError
from orchestrator.execution.base import LEAVE_SIGNAL, Launch, Rank, Source
from orchestrator.execution.process.failures import GAVE_UP, OverMemoryLimit, failure, leave_words
from orchestrator.measurement.ceilings import measure_ceilings
from orchestrator.measurement.figures import figures, verdicts
from orchestrator.measurement.run import Context, Run, TrialStopped
from orchestrator.measurement.time_slices import TimeSlices
from orchestrator.measurement.usage import settings
from orchestrator.space.declare import idle_knobs
from orchestrator.system.lifeline import tie_children
from orchestrator.system.memory import offer_to_kernel
from orchestrator.trainable import Trainable
from orchestrator.trial import Report, TrialState

REASON_LINES = 3


class PipeChannel:
    """Sends reports to the supervisor, and never waits for it."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._is_to_stop = False
        self.last: Report | None = None

    def report(self, report: Report) -> bool:
        """Hands on a report; returns whether the trial was told to stop, after whichever."""
        self.last = report
        self.send({"report": report.to_json()})
        while self._connection.poll(0):
            self._hear()
        return self._is_to_stop

    def pass_on(self, progress: float) -> None:
        """Ends this trial's turn and waits for its next one. Meanwhile all of it is stopped."""
        self.send({"slice_end": progress})
        self._hear()

    def _hear(self) -> None:
        told: dict[str, bool] = json.loads(self._connection.recv_bytes())
        self._is_to_stop |= told.get("stop", False)

    def send(self, message: Mapping[str, Any]) -> None:
        """Sends one message."""
        self._connection.send_bytes(json.dumps(message).encode())


def run_child(request: Mapping[str, Any], channel: int) -> int:
    """Trains one rank of one trial; returns the process's exit code."""
    launch, rank = Launch.from_json(request["launch"]), _rank(request["rank"])
    pipe = PipeChannel(Connection(channel))
    _settle(launch, rank, Path(request["log"]))
    if refused := _bind(rank):
        pipe.send({"unbound": refused})
    try:
        trainable = find_trainable(launch.source)
        turns = _turns(launch, pipe) if launch.interleaved else None
        run = Run(_context(launch, rank, trainable), pipe, turns)
    except Exception as error:  # noqa: BLE001 - whatever it is, it becomes the trial's row
        traceback.print_exc()
        pipe.send({"result": failure(error, None)})
        return 1
    outcome = _train(trainable, launch, run)
    if rank.index and outcome["state"] in (TrialState.INFEASIBLE, TrialState.FAILED):
        leave_words(Path(request["log"]), rank.index, outcome["reason"])
        return GAVE_UP if outcome["state"] is TrialState.INFEASIBLE else 1
    more = outcome["state"] is TrialState.COMPLETED and _has_ceilings(launch, run)
    last = pipe.last
    metrics = {**(last.metrics if last else {}), **figures(run.recording())}
    tags = {**(last.tags if last else {}), **verdicts(run.recording()), **settings()}
    measured = {"metrics": metrics, "tags": tags, "blocks": run.new_blocks()}
    measured |= {"restored_epochs": run.restored_epochs}
    pipe.send({"result": {**outcome, **measured}, "more": more})
    if more:
        pipe.send({"ceilings": _ceilings(trainable, launch, run)})
    return 0


def _turns(launch: Launch, pipe: PipeChannel) -> TimeSlices:
    return TimeSlices(pipe.pass_on, burst=launch.demand.burst)


def find_trainable(source: Source) -> Trainable[Any]:
    """The trainable that ``source`` names, from its sweep file or its module."""
    if source.file is not None:
        from orchestrator.sweep.loading import load_sweep

        return load_sweep(Path(source.file)).trainable
    found = getattr(importlib.import_module(source.module), source.attribute)
    assert isinstance(found, Trainable)
    return found


def _rank(data: Mapping[str, Any]) -> Rank:
    lists = {"cores": tuple(data["cores"]), "gpus": tuple(data["gpus"])}
    master = tuple(data["master"]) if data["master"] else None
    return Rank(**{**data, **lists, "master": master})


def _settle(launch: Launch, rank: Rank, log: Path) -> None:
    """Output, environment and cores, before anything of the trial runs."""
    output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    nothing = os.open(os.devnull, os.O_RDONLY)
    for descriptor, target in ((nothing, 0), (output, 1), (output, 2)):
        os.dup2(descriptor, target)
    os.close(nothing)
    os.close(output)
    os.environ.update(rank.environment())
    random.seed(launch.trial.seed)
    signal.signal(LEAVE_SIGNAL, _leave)
    tie_children()
    offer_to_kernel()


def _bind(rank: Rank) -> str:
    """Binds every thread that there is, and so all that they start; returns why not, if not."""
    if not rank.cores:
        return ""
    try:
        for thread in Path("/proc/self/task").iterdir():
            os.sched_setaffinity(int(thread.name), rank.cores)
    except OSError as error:
        return error.strerror or str(error)
    return ""


def _leave(_signal: int, _frame: FrameType | None) -> NoReturn:
    raise OverMemoryLimit


def _context(launch: Launch, rank: Rank, trainable: Trainable[Any]) -> Context:
    trial, demand = launch.trial, launch.demand
    checkpoints = launch.scratch / "checkpoints" / trial.id
    checkpoints.mkdir(parents=True, exist_ok=True)
    return Context(
        seed=trial.seed,
        budget=trial.budget,
        device="cuda:0" if rank.gpus else "cpu",
        num_cores=rank.num_cores,
        num_workers=demand.workers,
        burst=demand.burst,
        rank=rank.index,
        world_size=rank.world_size,
        data=_data(launch, trainable) if launch.data else None,
        evaluate_test=trial.evaluate_test,
        checkpoint_dir=checkpoints,
    )


def _data(launch: Launch, trainable: Trainable[Any]) -> PreparedData:
    """The data set as it is on this node.

    Raises:
        DataError: It is not what the driver has. Of a set that is generated nothing is asked:
            processors differ in the last digits.
    """
    dataset = find_data(trainable.data, launch.data)
    data = dataset.prepare(launch.folders)
    claimed = launch.data_fingerprint
    if claimed and data.fingerprint != claimed and not dataset.embedded:
        raise DataError(
            f"{data.name} under {launch.folders.root} on {os.uname().nodename} is "
            f"{data.fingerprint} where the driver has {claimed}",
            "give every node the same copy",
        )
    return data


def _train(trainable: Trainable[Any], launch: Launch, run: Run) -> dict[str, Any]:
    config = trainable.config(**launch.trial.config)
    try:
        trainable.train(config, run)
    except TrialStopped:
        return {"state": TrialState.STOPPED, "reason": ""}
    except (Exception, OverMemoryLimit) as error:  # noqa: BLE001 - it becomes the trial's row
        traceback.print_exc()
        return failure(error, run.recording().num_steps)
    return {"state": TrialState.COMPLETED, "reason": ""}


def _has_ceilings(launch: Launch, run: Run) -> bool:
    least_s = launch.ceilings_from_s
    return least_s is not None and run.recording().train_s >= least_s


def _ceilings(trainable: Trainable[Any], launch: Launch, run: Run) -> dict[str, Any]:
    """What the loader alone and the model alone can do, or why that could not be taken."""
    config = trainable.config(**launch.trial.config)
    try:
        found = measure_ceilings(lambda again: trainable.train(config, again), run)
    except (Exception, OverMemoryLimit) as error:  # noqa: BLE001 - the trial itself has completed
        traceback.print_exc()
        return {"tags": {"no_ceilings": f"{type(error).__name__}: {error}"}}
    if found is None:
        return {}
    idle = ", ".join(idle_knobs(config))  # no prediction is to vary these
    return {"metrics": found.metrics, "tags": {**found.tags, **({"idle": idle} if idle else {})}}


if __name__ == "__main__":
    sys.exit("this module is run by the fork server")
