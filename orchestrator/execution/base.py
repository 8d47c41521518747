"""What an executor is, and what it is told to launch."""

from __future__ import annotations

import signal
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Protocol

from orchestrator.data import DataFolders
from orchestrator.machine import Machine
from orchestrator.search.base import Pause
from orchestrator.trainable import Demand
from orchestrator.trial import Isolation, Report, Trial, TrialResult, TrialState

LEAVE_SIGNAL = signal.SIGUSR2
"""Sent to a trial that is to end at once and to say how far it has come."""


class Conductor(Protocol):
    """What an executor drives: the one control loop, seen from below."""

    @property
    def interrupted(self) -> bool:
        """Whether running trials are to be abandoned and nothing more started."""

    def next_launch(self) -> Launch | Pause | None:
        """The next trial to run; ``WAIT`` until another has finished; None at the end."""

    def started(self, trial: Trial, *, node: str, cores: int, restored_epochs: int = 0) -> None:
        """A trial's process has been started; ``restored_epochs`` as in :class:`Started`."""

    def reported(self, trial: Trial, report: Report) -> bool:
        """A trial has reported; returns whether it is to stop. Meanwhile it trains on."""

    def finished(self, trial: Trial, result: TrialResult) -> None:
        """A trial has ended, in whatever way. Called exactly once for each launch."""

    def waiting(self, trial: Trial, seconds: float, what: str) -> None:
        """A trial has been waiting to start for ``seconds``, for ``what``."""

    def note(self, text: str) -> None:
        """Something that the user should know of how trials run; the same text counts once."""

    def tick(self) -> None:
        """Called a few times a second while trials run."""


class Executor(Protocol):
    """Runs trials until the conductor has no more."""

    def machine(self) -> Machine:
        """The machine or cluster that trials run on."""

    def run(self, conductor: Conductor) -> None:
        """Runs everything that ``conductor`` hands out; leaves no process behind."""

    def close(self) -> None:
        """Gives up what the executor holds. Safe to call more than once."""


@dataclass(frozen=True, kw_only=True)
class Source:
    """Where a training process finds its trainable.

    Attributes:
        file: A sweep file, whose ``SWEEP.trainable`` it is; or None.
        module: Otherwise the module that holds it.
        attribute: Its name there.
    """

    file: str | None = None
    module: str = ""
    attribute: str = ""


@dataclass(frozen=True, kw_only=True)
class TimeBudget:
    """Until when trials may start.

    Attributes:
        seconds: How long the sweep was given.
        ends_at: When that ends, in seconds since the epoch: other nodes ask as well.
    """

    seconds: float
    ends_at: float

    def not_run(self) -> TrialResult | None:
        """The row of a trial that would start now; None where it may."""
        if time.time() < self.ends_at:
            return None
        reason = f"the time budget of {self.seconds:g} s had ended"
        return TrialResult(state=TrialState.NOT_RUN, reason=reason)


@dataclass(frozen=True, kw_only=True)
class Launch:
    """A trial and everything its supervisor needs to run it, on whichever node.

    Attributes:
        trial: What to run.
        source: Where its trainable is found.
        demand: Ranks, GPUs, workers and allocator.
        num_cores: Cores of the trial, over all ranks.
        isolation: How far it is to be kept from others.
        data: Name of its data set, a variant included, or empty.
        folders: Where data sets live.
        preload: Modules to import once a node, before any fork.
        time_limit_s: It is infeasible if it takes longer, or None.
        retries: How often it is tried again if it fails.
        scratch: Folder on the node for its output and checkpoints.
        memory_limit_gib: Memory of its own that it may have, or None for its share of the
            node it runs on.
        ceilings_from_s: Its loader alone and its model alone are timed, once it has completed,
            if it trained for so long. None: never.
        data_fingerprint: What its data set must be, or empty where that is not known.
        time_budget: It is not run if it could only start after that, or None.
        interleaved: True where it shares its cores with others in time slices.
        others: The other interleaved launches, in the first of them.
    """

    trial: Trial
    source: Source
    demand: Demand
    num_cores: int
    isolation: Isolation
    data: str
    folders: DataFolders
    preload: tuple[str, ...]
    time_limit_s: float | None
    retries: int
    scratch: Path
    memory_limit_gib: float | None = None
    ceilings_from_s: float | None = None
    data_fingerprint: str = ""
    time_budget: TimeBudget | None = None
    interleaved: bool = False
    others: tuple[Launch, ...] = ()

    @property
    def trials(self) -> tuple[Trial, ...]:
        """The trials that are run."""
        return (self.trial, *(other.trial for other in self.others))

    def each(self) -> tuple[Launch, ...]:
        """A launch for each of them."""
        return (replace(self, others=()), *self.others)

    def not_run(self) -> TrialResult | None:
        """Its row where it is too late to start it, else None."""
        return None if self.time_budget is None else self.time_budget.not_run()

    def to_json(self) -> dict[str, Any]:
        """A plain dictionary, for another process."""
        plain = asdict(self)
        return {
            **plain,
            "others": [other.to_json() for other in self.others],
            "folders": {name: str(path) for name, path in plain["folders"].items()},
            "scratch": str(self.scratch),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Launch:
        """The inverse of :meth:`to_json`."""
        time_budget = data["time_budget"]
        return cls(
            **{
                **data,
                "trial": Trial.from_json(data["trial"]),
                "source": Source(**data["source"]),
                "demand": Demand(**data["demand"]),
                "isolation": Isolation(data["isolation"]),
                "folders": DataFolders(**{k: Path(v) for k, v in data["folders"].items()}),
                "preload": tuple(data["preload"]),
                "scratch": Path(data["scratch"]),
                "others": tuple(map(cls.from_json, data["others"])),
                "time_budget": None if time_budget is None else TimeBudget(**time_budget),
            }
        )


@dataclass(frozen=True, kw_only=True)
class Rank:
    """One training process of a trial.

    Attributes:
        index: Its rank.
        world_size: Number of ranks.
        cores: Cores that it and its loader workers are bound to; empty: not bound.
        num_cores: Their number, also where they are not bound.
        gpus: GPUs that it may see, as ``CUDA_VISIBLE_DEVICES`` names them.
        master: Address and port of rank 0, for several ranks.
        attempt: 0 for the first try, then 1, 2, ...
    """

    index: int = 0
    world_size: int = 1
    cores: tuple[int, ...] = ()
    num_cores: int = 1
    gpus: tuple[str, ...] = ()
    master: tuple[str, int] | None = None
    attempt: int = 0

    def environment(self) -> dict[str, str]:
        """What the rank's process finds in its environment, torchrun's names."""
        variables = {
            "CUDA_VISIBLE_DEVICES": ",".join(self.gpus),
            "CUDA_DEVICE_ORDER": "PCI_BUS_ID",  # as NVML counts, which the telemetry reads
        }
        if self.master is not None:
            variables |= {
                "RANK": str(self.index),
                "LOCAL_RANK": "0",  # each rank sees its own GPUs alone
                "WORLD_SIZE": str(self.world_size),
                "MASTER_ADDR": self.master[0],
                "MASTER_PORT": str(self.master[1]),
            }
        return variables


@dataclass(frozen=True, kw_only=True)
class Update:
    """A report, and the row that the trial would have if it ended with it."""

    report: Report
    so_far: TrialResult


@dataclass(frozen=True, kw_only=True)
class SliceEnd:
    """The trial waits for its next turn.

    Attributes:
        progress: How far it is, as a fraction of its budget.
    """

    progress: float


@dataclass(frozen=True, kw_only=True)
class Started:
    """The trial runs in a new process; what another has reported of later epochs is void.

    Attributes:
        restored_epochs: Epochs that a checkpoint has kept.
    """

    restored_epochs: int = 0
