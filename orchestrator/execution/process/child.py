"""Child: trains one rank of one trial in a freshly forked process, and sends its result.

It sets up the output, environment and cores of the process before that.
"""

import getpass
import importlib
import io
import os
import random
import sys
import tempfile
import traceback
from collections.abc import Mapping
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Final

import torch
from threadpoolctl import threadpool_limits

from orchestrator.data import PreparedData, find_data
from orchestrator.errors import DataError
from orchestrator.execution.process.failures import failure
from orchestrator.execution.process.fork_client import PipeChannel
from orchestrator.kernel.executor import Launch, Needs, Rank, Source
from orchestrator.measurement.ceilings import measure_ceilings
from orchestrator.measurement.run import Context, Run, TrialStopped
from orchestrator.measurement.time_slices import TimeSlices
from orchestrator.measurement.trial_figures import figures, verdicts
from orchestrator.measurement.usage import settings
from orchestrator.system.cgroup import offer_to_kernel
from orchestrator.texts import described
from orchestrator.trainable import Trainable
from orchestrator.trial import TrialResult, TrialState

_OF_TORCHRUN: Final = (
    "RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "GROUP_RANK", "GROUP_WORLD_SIZE",
    "ROLE_RANK", "ROLE_WORLD_SIZE", "ROLE_NAME", "MASTER_ADDR", "MASTER_PORT",
)  # fmt: skip
_OF_LAUNCHERS: Final = ("TORCHELASTIC_", "OMPI_COMM_WORLD_", "PMI_", "MV2_COMM_WORLD_")
"""Variables from which libraries learn the ranks of a job."""


def run_child(launch: Launch, rank: Rank, channel: int) -> int:
    """Train one rank of one trial; return the exit code of the process.

    Args:
        launch: The trial.
        rank: Its rank in it.
        channel: Descriptor of the pipe to the supervisor.
    """
    pipe = PipeChannel(Connection(channel))
    # Before the trainable is imported: it may print, fork and start threads, and all that inherits
    # output and cores from this thread.
    set_up(launch, rank)
    try:
        bind(rank)
        limit_threads(rank.num_cores)
        trainable = find_trainable(launch.needs.source)
        slices = TimeSlices(pipe.end_slice)
        context = _context(launch, rank, trainable)
        run = Run(context, pipe, slices if launch.in_slices else None)
    except BaseException as error:  # noqa: BLE001 - whatever it is, it becomes the trial's row
        pipe.send({"result": _failed(error, None)})
        return 1
    outcome = _train(trainable, launch, run)
    if pipe.last is not None:  # it has come further than that
        outcome["again"] = True
    if rank.index:  # the trial's figures are rank 0's
        _send_last(pipe, {"result": outcome})
        return 0
    least_s = launch.ceilings_from_s
    is_measured = least_s is not None and run.evaluates and run.recording().train_s >= least_s
    has_more = outcome["state"] is TrialState.COMPLETED and is_measured
    # Before the ceilings: a process that dies while they are measured has sent its result.
    _send_last(pipe, {"result": {**outcome, **_measurements(run, pipe)}, "more": has_more})
    if has_more:
        _send_last(pipe, {"ceilings": _ceilings(trainable, launch, run)})
    return 0


def _send_last(pipe: PipeChannel, message: Mapping[str, Any]) -> None:
    """Send what may be the last message; by then all that was printed is in the trial's file."""
    with suppress(Exception):  # they may be closed, None, or something of the trainable's
        sys.stdout.flush()
        sys.stderr.flush()
    pipe.send(message)


def _failed(error: BaseException, num_steps: int | None) -> dict[str, Any]:
    """Return the outcome of ``error``, see :func:`failure`; print its traceback."""
    with suppress(Exception):  # after what the trial has printed, if it can be written
        sys.stdout.flush()
    traceback.print_exc()
    return failure(error, num_steps)


def _measurements(run: Run, pipe: PipeChannel) -> dict[str, Any]:
    """Return what the process measured, the metrics of its last report included."""
    last, found = pipe.last, {**verdicts(run.recording()), **settings(), **run.tags}
    row = TrialResult(  # whose figures and texts fit any table
        state=TrialState.COMPLETED,
        metrics={**(last.metrics if last else {}), **figures(run.recording()), **run.reported},
        tags={**(last.tags if last else {}), **found},
    )
    return {
        "metrics": row.metrics,
        "tags": row.tags,
        "blocks": run.take_rows(),
        "restored_epochs": run.restored_epochs,
        "notes": run.notes,
    }


def find_trainable(source: Source) -> Trainable[Any]:
    """Return the trainable that ``source`` names, from its sweep file or its module."""
    if source.file is not None:
        from orchestrator.sweep.loading import load_sweep

        return load_sweep(Path(source.file)).trainable
    trainable = getattr(importlib.import_module(source.module), source.attribute)
    assert isinstance(trainable, Trainable)
    return trainable


def _context(launch: Launch, rank: Rank, trainable: Trainable[Any]) -> Context:
    trial, demand = launch.trial, launch.demand
    # All ranks of a trial come here, in any order.
    launch.checkpoints.mkdir(parents=True, exist_ok=True)
    return Context(
        seed=trial.seed,
        budget=trial.budget,
        device="cuda:0" if rank.gpus else "cpu",
        num_cores=rank.num_cores,
        num_workers=demand.workers,
        burst=demand.burst,
        rank=rank.index,
        world_size=rank.world_size,
        data=data_here(trainable, launch.needs) if launch.needs.data else None,
        evaluate_test=trial.evaluate_test,
        # A trial of speed alone ends before a checkpoint would be useful. With several nodes
        # only the first would have it, and the ranks would continue from different epochs.
        checkpoint_dir=launch.checkpoints if trial.budget.evaluated and demand.nodes == 1 else None,
        folder=launch.checkpoints / "files",
        stage=trial.stage,
        trial_id=trial.id,
    )


def data_here(trainable: Trainable[Any], needs: Needs) -> PreparedData:
    """Return the data set as it is on this node.

    Args:
        trainable: The trainable that it is for.
        needs: The data set, its folders and the driver's fingerprint.

    Raises:
        DataError: It is absent, or not the driver's. A generated set is not compared: processors
            differ in its last digits.
    """
    dataset = find_data(trainable.data, needs.data)
    data = dataset.prepare(needs.folders)
    if needs.fingerprint and data.fingerprint != needs.fingerprint and not dataset.embedded:
        raise DataError(
            f"{data.name} under {needs.folders.root} on {os.uname().nodename} is "
            f"{data.fingerprint} where the driver has {needs.fingerprint}",
            "give every node the same copy",
        )
    return data


def _train(trainable: Trainable[Any], launch: Launch, run: Run) -> dict[str, Any]:
    """Train; return state and reason."""
    config = trainable.config(**launch.trial.config)
    try:
        trainable.train(config, run)
        run.require_finite()
    except TrialStopped:
        own = "" if run.told_to_stop else "its training function raised TrialStopped"
        return {"state": TrialState.STOPPED, "reason": run.ending[1] or own}
    except BaseException as error:  # noqa: BLE001 - it becomes the trial's row
        return _failed(error, run.recording().num_steps)
    state, reason = run.ending
    return {"state": state, "reason": reason}


def _ceilings(trainable: Trainable[Any], launch: Launch, run: Run) -> dict[str, Any]:
    """Return the rates of the loader alone and the model alone, or why they are not known."""
    config = trainable.config(**launch.trial.config)
    try:
        ceilings = measure_ceilings(lambda again: trainable.train(config, again), run)
    except BaseException as error:  # noqa: BLE001 - the trial itself has completed
        traceback.print_exc()
        return {"tags": {"no_ceilings": described(error)}}
    if ceilings is None:
        return {}
    return {"metrics": ceilings.metrics, "tags": ceilings.tags}


# -- setup


def set_up(launch: Launch, rank: Rank) -> None:
    """Give the process the output, environment and arguments of its trial."""
    _redirect_output(launch.log)
    if launch.watched and isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(line_buffering=True)  # a file's lines wait until there are many
    take_environment(rank)
    _keep_apart(launch.temporary)
    # Not the server's arguments: a training function may parse them.
    sys.argv = [launch.needs.source.file or launch.needs.source.module]
    # Every child inherits the state of the server's generator: without this all would be alike.
    random.seed(launch.trial.seed)
    # Here and not in the server: all trials of its node would end with it.
    offer_to_kernel()


def take_environment(rank: Rank) -> None:
    """Give the process the variables of its rank, and none of the sweep's own launcher.

    If ``torchrun``, ``srun`` or ``mpirun`` has started the driver, a trial would wait for ranks
    of that job.
    """
    for name in [name for name in os.environ if name.startswith(_OF_LAUNCHERS)]:
        del os.environ[name]
    for name in _OF_TORCHRUN:
        os.environ.pop(name, None)
    os.environ.update(rank.environment())


def _keep_apart(folder: Path) -> None:
    """Give the process ``folder`` for temporary files: the driver's are beside it, not in it."""
    # What is compiled for one trial is for all: torch's own place is in the temporary folder.
    with suppress(KeyError, OSError):  # a user without a name
        compiled = Path(tempfile.gettempdir()) / f"torchinductor_{getpass.getuser()}"
        os.environ.setdefault("TORCHINDUCTOR_CACHE_DIR", str(compiled))
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)  # another rank may have made it
    os.environ["TMPDIR"] = tempfile.tempdir = str(folder)


def bind(rank: Rank) -> None:
    """Bind the process to the rank's cores.

    Affinity belongs to a thread, and is inherited by the threads and processes that it starts.
    So every thread that exists before the trial is bound: a fork leaves only the calling one, but
    a library's at-fork handler may have started others.

    Raises:
        OSError: It is refused.
    """
    for thread in Path("/proc/self/task").iterdir() if rank.cores else ():
        os.sched_setaffinity(int(thread.name), rank.cores)


def limit_threads(num_cores: int) -> None:
    """Give torch, OpenMP and BLAS a thread for each core, as Ray does with ``OMP_NUM_THREADS``.

    The libraries were loaded before the process had its cores. A trainable can set other numbers,
    and a user can with ``OMP_NUM_THREADS``.
    """
    if "OMP_NUM_THREADS" in os.environ:
        return
    os.environ["OMP_NUM_THREADS"] = str(num_cores)  # of the processes that it starts
    threadpool_limits(num_cores)
    torch.set_num_threads(num_cores)


def _redirect_output(log: Path) -> None:
    """Replace standard input by nothing, and standard output and error by a file.

    By descriptor, so that libraries in C and loader workers write there too. With O_APPEND,
    since all ranks and attempts write to the same file: each write goes to its end.
    """
    output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    nothing = os.open(os.devnull, os.O_RDONLY)
    for descriptor, target in ((nothing, 0), (output, 1), (output, 2)):
        os.dup2(descriptor, target)
    os.close(nothing)
    os.close(output)
