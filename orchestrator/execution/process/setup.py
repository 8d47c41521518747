"""Setup of a freshly forked process: its output, environment, signals and cores."""

from __future__ import annotations

import io
import os
import random
import signal
import sys
from pathlib import Path
from types import FrameType
from typing import Final, NoReturn

from orchestrator.execution.process.failures import OverMemoryLimit
from orchestrator.kernel.executor import LEAVE_SIGNAL, Launch, Rank
from orchestrator.system.memory import offer_to_kernel

_OF_TORCHRUN: Final = (
    "RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "GROUP_RANK", "GROUP_WORLD_SIZE",
    "ROLE_RANK", "ROLE_WORLD_SIZE", "ROLE_NAME", "MASTER_ADDR", "MASTER_PORT",
)  # fmt: skip
_OF_LAUNCHERS: Final = ("TORCHELASTIC_", "OMPI_COMM_WORLD_", "PMI_", "MV2_COMM_WORLD_")
"""Variables from which libraries learn the ranks of a job."""


def set_up(launch: Launch, rank: Rank, log: Path) -> None:
    """Give the process the output, environment, arguments and signals of its trial.

    Args:
        launch: The trial.
        rank: Its rank in it.
        log: File that gets its output.
    """
    _redirect_output(log)
    if launch.watched and isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(line_buffering=True)  # a file's lines wait until there are many
    take_environment(rank)
    # Not the server's arguments: a training function may parse them.
    sys.argv = [launch.needs.source.file or launch.needs.source.module]
    # Every child inherits the state of the server's generator: without this all would be alike.
    random.seed(launch.trial.seed)
    # Without a handler this signal ends a process, which could then send no last figures.
    signal.signal(LEAVE_SIGNAL, _raise_over_memory_limit)
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


def _raise_over_memory_limit(_signal: int, _frame: FrameType | None) -> NoReturn:
    raise OverMemoryLimit
