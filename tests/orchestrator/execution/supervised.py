"""One trial of ``greedy.py`` under a supervisor, or one attempt at it, without an executor."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil

from orchestrator import DataFolders, Demand, Isolation
from orchestrator.execution.leases import CoreLeases
from orchestrator.execution.process.fork_servers import ForkServers
from orchestrator.execution.process.ranks import StartRank
from orchestrator.execution.supervision.attempt import Attempt, Host, Progress
from orchestrator.execution.supervision.supervisor import Supervisor
from orchestrator.kernel.executor import (
    Launch,
    Limits,
    Needs,
    SliceEnd,
    Source,
    Started,
    Update,
)
from orchestrator.trial import Budget, Stage, Trial, TrialResult
from tests.orchestrator.execution.greedy import Config
from tests.zygote import STARTED

FILE = Path(__file__).with_name("greedy.py")
PRELOAD = ("torch", "torch.utils.data")


@dataclass(kw_only=True)
class Course:
    """A trial from its start to its row."""

    result: TrialResult
    starts: list[Started] = field(default_factory=list)
    reports: list[int] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def launch_of(folder: Path, name: str = "trial", **values: Any) -> Launch:  # noqa: ANN401
    """Make a launch of ``greedy``; a keyword that is no field of :class:`Launch` is a knob."""
    settings: dict[str, Any] = {
        "demand": Demand(),
        "num_cores": 1,
        "isolation": Isolation.SHARED,
        "interleaved": False,
    }
    limits: dict[str, Any] = {"time_limit_s": 60.0, "retries": 0, "memory_gib": None}
    taken = {*settings, *limits, "epochs"}
    knobs = {key: value for key, value in values.items() if key not in taken}
    return Launch(
        trial=Trial(
            id=name,
            stage=Stage.TRAIN,
            config=dict(Config(**knobs).__dict__),
            budget=Budget(epochs=values.get("epochs", 1)),
            seed=0,
        ),
        needs=Needs(
            source=Source(file=str(FILE)),
            data="",
            folders=DataFolders(root=folder, cache=folder),
            fingerprint="",
        ),
        limits=Limits(**{key: values.get(key, default) for key, default in limits.items()}),
        preload=PRELOAD,
        scratch=folder / "scratch",
        **{key: values.get(key, default) for key, default in settings.items()},
    )


def core_of_this_test() -> int:
    """Return the core that a leased trial of a test is bound to."""
    return min(os.sched_getaffinity(0))


def leases_in(folder: Path) -> CoreLeases:
    """Lease that one core, by locks in ``folder``."""
    return CoreLeases(folder / "locks", [core_of_this_test()])


@contextmanager
def supervised(launch: Launch, servers: ForkServers, leases: CoreLeases) -> Iterator[Supervisor]:
    """Start a trial on cores of its own."""
    lease = leases.acquire(launch.num_cores, launch.isolation, timeout_s=30)
    assert lease is not None
    supervisor = Supervisor(launch, Host(leases=leases, server=_server_of(launch, servers)))
    try:
        supervisor.start(lease)
        yield supervisor
    finally:
        supervisor.close()
        lease.release()


def run(
    launch: Launch,
    servers: ForkServers,
    leases: CoreLeases,
    *,
    on_restart: Callable[[], object] = lambda: None,
) -> Course:
    """Run a trial to its row."""
    starts: list[Started] = []
    reports: list[int] = []
    notes: list[str] = []
    with supervised(launch, servers, leases) as supervisor:
        while True:
            update = supervisor.next_update(0.25)
            notes += supervisor.take_notes()
            if isinstance(update, Started):
                starts.append(update)
                on_restart()
            elif isinstance(update, Update):
                reports.append(update.report.epoch)
            elif isinstance(update, TrialResult):
                return Course(result=update, starts=starts, reports=reports, notes=notes)


@contextmanager
def attempt_at(
    launch: Launch,
    servers: ForkServers,
    leases: CoreLeases,
    start_rank: StartRank | None = None,
) -> Iterator[Attempt]:
    """Start one attempt at a trial."""
    lease = leases.acquire(launch.num_cores, launch.isolation, timeout_s=30)
    assert lease is not None
    host = Host(leases=leases, server=_server_of(launch, servers), start_rank=start_rank)
    attempt = None
    try:
        attempt = Attempt(launch, lease, host, Progress(), {"attempts": "1"})
        yield attempt
    finally:
        if attempt is not None:
            attempt.close()
        lease.release()


def outcome_of(attempt: Attempt) -> TrialResult:
    """Wait for the row of an attempt; reports are passed over."""
    while not isinstance(event := attempt.next_event(0.25), TrialResult):
        assert not isinstance(event, SliceEnd), "it is not resumed"
    return event


def ended(launch: Launch, servers: ForkServers, folder: Path) -> TrialResult:
    """Return the row of one attempt at a trial, to which nothing is done."""
    with attempt_at(launch, servers, leases_in(folder)) as attempt:
        return outcome_of(attempt)


def newest_process() -> psutil.Process:
    """Return the process that was started last below this one: the trial's."""
    of_tests = {process.pid for process in STARTED}
    found = [p for p in psutil.Process().children(recursive=True) if p.pid not in of_tests]
    return max(found, key=psutil.Process.create_time)


def _server_of(launch: Launch, servers: ForkServers) -> Callable[[], Path]:
    return lambda: servers.socket_for(launch.demand.allocator, launch.preload)
