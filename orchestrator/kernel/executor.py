"""The protocols of an executor and of what drives it, and the launch that passes between them."""

import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, Protocol

from orchestrator.data import DataFolders
from orchestrator.kernel.events import Started
from orchestrator.kernel.search import Pause
from orchestrator.machine import Machine
from orchestrator.system.gpus import limits_of
from orchestrator.trainable import Demand
from orchestrator.trial import Isolation, Report, Trial, TrialResult, TrialState

SHORT_S: Final = 0.5
"""A trial that takes no longer is done before Ray could have an actor for another."""

_ZERO: Final = time.time() - time.monotonic()


def steady_time() -> float:
    """Return the Unix time, as this process began with it: no jump of the system's moves it."""
    return _ZERO + time.monotonic()


class Conductor(Protocol):
    """The control loop as an executor sees it."""

    @property
    def interrupted(self) -> bool:
        """Return True if running trials are to be abandoned and nothing more started."""

    def next_launch(self) -> "Launch | Pause | None":
        """Return the next launch; ``WAIT`` until a trial has finished; None at the end."""

    def started(self, start: Started) -> None:
        """Take note of a trial's start; reports of later epochs by another process are void."""

    def reported(self, trial: Trial, report: Report) -> bool:
        """Take a trial's report; return True if it is to stop. The trial trains on meanwhile."""

    def finished(self, trial: Trial, result: TrialResult) -> None:
        """Take the result of a trial. Called exactly once for each trial launched."""

    def waiting(self, trial: Trial, seconds: float, what: str) -> None:
        """Take note that a trial has been waiting to start for ``seconds``, for ``what``."""

    def note(self, text: str) -> None:
        """Take a note for the user on how trials run; the same text counts once."""

    def tick(self) -> None:
        """Do what is due now and then. Called a few times a second while trials run."""


class ExecutorLost(Exception):
    """Failure of an executor: the system that runs its trials has died; see the message."""


@dataclass(frozen=True, kw_only=True)
class Source:
    """Place where a training process finds its trainable.

    Attributes:
        file: Sweep file that has it as ``SWEEP.trainable``, or None.
        module: Otherwise the module that contains it.
        attribute: Its name there.
    """

    file: str | None = None
    module: str = ""
    attribute: str = ""


@dataclass(frozen=True, kw_only=True)
class Needs:
    """Needs of a node to run the trials of a sweep.

    Attributes:
        source: Where a training process finds the trainable.
        data: Name of the data set, a variant included, or empty.
        folders: Where data sets live.
        fingerprint: The driver's hash of the data's content, or empty where it is not known.
    """

    source: Source
    data: str
    folders: DataFolders
    fingerprint: str


class Executor:
    """Runs trials until the conductor has no more. Optional methods have defaults.

    Attributes:
        facts: Fields of the run's record that are not those of this process.
    """

    facts: Mapping[str, Any] = MappingProxyType({})

    def machine(self) -> Machine:
        """Return the machine or cluster that trials run on."""
        raise NotImplementedError

    def problems_of_nodes(self, needs: Needs) -> Sequence[str]:
        """Return why nodes could not run the trials, each with its node's name.

        Raises:
            ExecutorLost: It cannot continue.
        """
        return ()

    def run(self, conductor: Conductor) -> None:
        """Run everything that ``conductor`` hands out; leave no process behind.

        Raises:
            ExecutorLost: It cannot continue; trials that were running have no row.
        """
        raise NotImplementedError

    def now(self) -> float:
        """Return the Unix time of the run's clock, which never jumps."""
        return steady_time()

    def last_lines(self) -> Sequence[str]:
        """Return what the last lines of a run have of it."""
        return ()

    def close(self) -> None:
        """Release the executor's resources. Safe to call more than once."""


@dataclass(frozen=True, kw_only=True)
class Deadline:
    """Time until which trials may start.

    Attributes:
        at: Time of the run's clock; in another process of :func:`steady_time` there.
        reason: Reason in the row of a trial that has not started by then.
    """

    at: float
    reason: str

    def __reduce__(self) -> "tuple[Callable[[float, str], Deadline], tuple[float, str]]":
        """Send the seconds that are left: clocks of nodes differ."""
        return _received, (self.at - steady_time(), self.reason)


def _received(left_s: float, reason: str) -> Deadline:
    return Deadline(at=steady_time() + left_s, reason=reason)


@dataclass(frozen=True, kw_only=True)
class Launch:
    """A trial and everything its supervisor needs to run it, on whichever node.

    Attributes:
        trial: What to run.
        needs: Its trainable and its data.
        demand: Ranks, GPUs, workers and allocator.
        num_cores: Cores of the trial, over all ranks.
        isolation: Its isolation from other trials.
        preload: Modules to import once a node, before any fork; those after a ``?`` only if that
            is possible.
        scratch: Folder on the node for its output and checkpoints.
        time_limit_s: It is infeasible if it takes longer, or None.
        retries: Number of further attempts if it fails.
        memory_gib: Memory that it may have; None: its share of the node it runs on.
        curves_dir: Folder of checkpoints of learning curves; None: one in ``scratch``.
        kept_dir: Folder to be made of its last checkpoint once it has completed, or None.
        ceilings_from_s: Least training time from which on its loader alone and its model alone
            are timed, once it has completed. None: never.
        deadline: Time after which it is not started, or None.
        in_slices: True if it shares its cores with others in time slices.
        rerun: True if it is run again once where other load disturbed it.
        watched: True if someone waits for it: its output is written line by line, and it waits
            for no cores.
        others: In the first of launches that share cores: the others.
        failed_attempts: Earlier attempts that ended with their supervisor.
    """

    trial: Trial
    needs: Needs
    demand: Demand
    num_cores: int
    isolation: Isolation
    preload: tuple[str, ...]
    scratch: Path
    time_limit_s: float | None = None
    retries: int = 0
    memory_gib: float | None = None
    curves_dir: Path | None = None
    kept_dir: Path | None = None
    ceilings_from_s: float | None = None
    deadline: Deadline | None = None
    in_slices: bool = False
    rerun: bool = True
    watched: bool = False
    others: "tuple[Launch, ...]" = ()
    failed_attempts: int = 0

    @property
    def trials(self) -> tuple[Trial, ...]:
        """Trials of the launch."""
        return (self.trial, *(other.trial for other in self.others))

    @property
    def log(self) -> Path:
        """File on the node with the output of all ranks of the trial."""
        return log_in(self.scratch, self.trial.id)

    @property
    def checkpoints(self) -> Path:
        """Folder of the trial's own checkpoints."""
        return self.scratch / "checkpoints" / self.trial.id

    @property
    def temporary(self) -> Path:
        """Folder of the trial's own temporary files."""
        return self.scratch / "tmp" / self.trial.id

    @property
    def curves(self) -> Path:
        """Folder of checkpoints of learning curves."""
        return self.curves_dir or self.scratch / "curves"

    def each(self) -> "tuple[Launch, ...]":
        """Return a launch for each trial."""
        return (replace(self, others=()), *self.others)

    def not_run(self, now: float | None = None) -> TrialResult | None:
        """Return its row if time ``now`` of the run's clock is too late to start it, else None."""
        deadline = self.deadline
        if deadline is None or (steady_time() if now is None else now) < deadline.at:
            return None
        return TrialResult(state=TrialState.NOT_RUN, reason=deadline.reason)


def log_in(scratch: Path, trial_id: str) -> Path:
    """Return the file with the output of a trial, in the ``scratch`` folder of its launch."""
    return scratch / "logs" / f"{trial_id}.log"


@dataclass(frozen=True, kw_only=True)
class Rank:
    """One training process of a trial.

    Attributes:
        index: Its rank.
        world_size: Number of ranks.
        cores: Cores that it and its loader workers are bound to; empty: not bound.
        num_cores: Number of these cores, also if they are not bound.
        gpus: GPUs that it may see, as ``CUDA_VISIBLE_DEVICES`` names them.
        part: Its part of its only GPU; 1 if it shares none.
        master: Address and port of rank 0, for several ranks.
        interface: Network interface to the ranks on other nodes; empty where there are none.
    """

    index: int = 0
    world_size: int = 1
    cores: tuple[int, ...] = ()
    num_cores: int = 1
    gpus: tuple[str, ...] = ()
    part: float = 1.0
    master: tuple[str, int] | None = None
    interface: str = ""

    def environment(self) -> dict[str, str]:
        """Return the environment of the rank's process, in torchrun's names."""
        variables = {
            "CUDA_VISIBLE_DEVICES": ",".join(self.gpus),
            "CUDA_DEVICE_ORDER": "PCI_BUS_ID",  # as NVML counts, which the telemetry reads
        }
        if self.part < 1 and self.gpus:
            variables |= limits_of(self.part, self.gpus[0])
        if self.master is not None:
            variables |= {
                "RANK": str(self.index),
                "LOCAL_RANK": "0",  # each rank sees only its own GPUs
                "WORLD_SIZE": str(self.world_size),
                "MASTER_ADDR": self.master[0],
                "MASTER_PORT": str(self.master[1]),
            }
        if self.interface:
            for library in ("GLOO", "NCCL"):
                name = f"{library}_SOCKET_IFNAME"
                variables[name] = os.environ.get(name, self.interface)
        return variables


@dataclass(frozen=True, kw_only=True)
class Update:
    """A report, and the row that the trial would have if it ended with it."""

    report: Report
    so_far: TrialResult


@dataclass(frozen=True, kw_only=True)
class SliceEnd:
    """End of a time slice: the trial waits for its next one.

    Attributes:
        progress: Fraction of its budget that it has trained.
    """

    progress: float


TrialUpdate = tuple[Trial, Started | Update | TrialResult]
"""A trial and its start, a report of it, or its row."""
