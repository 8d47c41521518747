"""One trial of ``greedy.py`` under a supervisor, or one attempt at it, without an executor."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil

from orchestrator import DataFolders, Demand, Isolation
from orchestrator.execution.leases import CoreLeases
from orchestrator.execution.process.fork_client import ForkedProcess
from orchestrator.execution.process.fork_servers import ForkServers
from orchestrator.execution.supervision.attempt import Attempt, Host
from orchestrator.execution.supervision.attempt_monitor import Progress
from orchestrator.execution.supervision.supervisor import Event, Supervisor
from orchestrator.kernel.events import Started
from orchestrator.kernel.executor import Launch, Needs, Rank, SliceEnd, Source, Update
from orchestrator.space.configs import values_of
from orchestrator.trial import Budget, Stage, Trial, TrialResult
from tests.helping import awaited
from tests.orchestrator.execution.greedy import Config
from tests.zygote import STARTED

FILE = Path(__file__).with_name("greedy.py")
DEFAULT = Config()
PRELOAD = ("torch", "torch.utils.data")


@dataclass(kw_only=True)
class Course:
    """A trial from its start to its row."""

    result: TrialResult
    starts: list[Started] = field(default_factory=list)
    reports: list[int] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def launch_of(
    folder: Path,
    name: str = "trial",
    *,
    file: Path = FILE,
    config: object = DEFAULT,
    epochs: int = 1,
    **values: Any,  # noqa: ANN401 - of any type
) -> Launch:
    """Make a launch of ``greedy``, or of another file with another config.

    A keyword that is no field of :class:`Launch` is a knob.
    """
    settings: dict[str, Any] = {
        "demand": Demand(),
        "preload": PRELOAD,
        "ceilings_from_s": None,
        "num_cores": 1,
        "isolation": Isolation.SHARED,
        "in_slices": False,
        "time_limit_s": 60.0,
        "retries": 0,
        "memory_gib": None,
    }
    knobs = {key: value for key, value in values.items() if key not in settings}
    return Launch(
        trial=Trial(
            id=name,
            stage=Stage.TRAIN,
            config=values_of(type(config)(**{**values_of(config), **knobs})),
            budget=Budget(epochs=epochs),
            seed=0,
        ),
        needs=Needs(
            source=Source(file=str(file)),
            data="",
            folders=DataFolders(root=folder, cache=folder),
            fingerprint="",
        ),
        scratch=folder / "scratch",
        **{key: values.get(key, default) for key, default in settings.items()},
    )


def core_of_this_test() -> int:
    """Return the core that a leased trial of a test is bound to."""
    return min(os.sched_getaffinity(0))


def leases_in(folder: Path) -> CoreLeases:
    """Lease that one core, by locks in ``folder``."""
    return CoreLeases(folder / "locks", [core_of_this_test()])


def run(
    launch: Launch,
    servers: ForkServers,
    leases: CoreLeases,
    *,
    on_restart: Callable[[], object] = lambda: None,
) -> Course:
    """Run a trial to its row on its own cores."""
    starts: list[Started] = []
    reports: list[int] = []
    lease = leases.acquire(launch.num_cores, launch.isolation, timeout_s=30)
    host = host_of(servers, leases)
    supervisor = Supervisor(launch, host)
    try:
        supervisor.start(lease)
        for update in events_of(supervisor):
            if isinstance(update, Update):
                reports.append(update.report.epoch)
            elif isinstance(update, Started):
                if starts:
                    on_restart()
                starts.append(update)
            elif isinstance(update, TrialResult):
                return Course(result=update, starts=starts, reports=reports, notes=host.notes)
        raise AssertionError("it has a row")
    finally:
        supervisor.close()
        lease.release()


def events_of(supervisor: Supervisor) -> Iterator[Event]:
    while True:
        yield from supervisor.next_events(0.25)


@contextmanager
def attempt_at(launch: Launch, servers: ForkServers, leases: CoreLeases) -> Iterator[Attempt]:
    """Start one attempt at a trial."""
    lease = leases.acquire(launch.num_cores, launch.isolation, timeout_s=30)
    host = host_of(servers, leases)
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


def host_of(servers: ForkServers, leases: CoreLeases) -> Host:
    def server(launch: Launch) -> Path:
        return servers.socket_for(launch.demand.allocator, launch.preload)

    return Host(leases=leases, server=server)


# -- processes forked from a server, and the server


@contextmanager
def forked(socket: Path, folder: Path, name: str = "trial") -> Iterator[ForkedProcess]:
    """Fork a process that trains until it is hung up on."""
    launch = launch_of(folder, name, act="wait", duration_s=600)
    process = ForkedProcess(socket, launch, Rank())
    try:
        yield process
    finally:
        process.hang_up()


def server_of(process: ForkedProcess) -> psutil.Process:
    parent = psutil.Process(process.pid).parent()
    assert parent is not None
    return parent


def wait_for_group(process: ForkedProcess) -> None:
    """Wait until the process has its own group, a moment after its fork."""
    awaited(lambda: os.getpgid(process.pid) == process.pid, "a group of its own")


def wait_for_end(servers: ForkServers) -> None:
    """Wait until their owner sees that one of them has ended."""
    own = servers._servers.values()
    awaited(lambda: any(each.process.poll() is not None for each in own), "the end of one")


def wait_for(process: psutil.Process, status: str) -> None:
    awaited(lambda: process.status() == status, f"{process} is {status}")
