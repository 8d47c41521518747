"""One trial of ``disturbed.py`` under a supervisor of its own, without an executor."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from orchestrator import DataFolders, Demand, Isolation
from orchestrator.execution.base import Launch, Source, Started, Update
from orchestrator.execution.interleaving import Interleaving
from orchestrator.execution.leases import CoreLeases
from orchestrator.execution.process.fork_client import ForkServers
from orchestrator.execution.supervision.supervisor import Supervisor
from orchestrator.trial import Budget, Stage, Trial, TrialResult
from tests.orchestrator.execution.disturbed import Config

FILE = Path(__file__).with_name("disturbed.py")
PRELOAD = ("torch", "torch.utils.data")


@dataclass(kw_only=True)
class Course:
    """What a trial went through."""

    result: TrialResult
    num_restarts: int = 0
    num_reports: int = 0
    notes: list[str] = field(default_factory=list)


def launch_of(folder: Path, name: str = "trial", **values: Any) -> Launch:  # noqa: ANN401
    """A launch of ``disturbed``; what is no field of :class:`Launch` is a knob."""
    settings: dict[str, Any] = {
        "demand": Demand(),
        "num_cores": 1,
        "isolation": Isolation.LEASED,
        "time_limit_s": 60.0,
        "retries": 0,
        "memory_limit_gib": None,
    }
    knobs = {key: value for key, value in values.items() if key not in (*settings, "epochs")}
    return Launch(
        trial=Trial(
            id=name,
            stage=Stage.TRAIN,
            config=dict(Config(**knobs).__dict__),
            budget=Budget(epochs=values.get("epochs", 1)),
            seed=0,
        ),
        source=Source(file=str(FILE)),
        data="",
        folders=DataFolders(root=folder, cache=folder),
        preload=PRELOAD,
        scratch=folder / "scratch",
        **{key: values.get(key, default) for key, default in settings.items()},
    )


def run(
    launch: Launch,
    servers: ForkServers,
    leases: CoreLeases,
    *,
    on_restart: Callable[[], object] = lambda: None,
    on_report: Callable[[], object] = lambda: None,
    **options: Any,  # noqa: ANN401 - of the supervisor
) -> Course:
    """Runs it to its end."""
    running = supervised(launch, servers, leases, **options)
    course = None
    num_starts = num_reports = 0
    notes: list[str] = []
    try:
        assert running.acquire_cores(timeout_s=30)
        while course is None:
            heard = running.next_update(0.25)
            notes += running.take_notes()
            update = None if heard is None else heard[1]
            if isinstance(update, Started):
                num_starts, num_reports = num_starts + 1, 0
                if num_starts > 1:
                    on_restart()
            elif isinstance(update, Update):
                num_reports += 1
                on_report()
            elif update is not None:
                course = Course(result=update)
    finally:
        running.close()
    course.num_restarts, course.num_reports, course.notes = num_starts - 1, num_reports, notes
    return course


def supervised(
    launch: Launch,
    servers: ForkServers,
    leases: CoreLeases,
    **options: Any,  # noqa: ANN401 - of the supervisor
) -> Interleaving:
    """What an executor makes of it; nothing is started yet."""

    def supervisor_of(each: Launch) -> Supervisor:
        def server() -> Path:
            return servers.socket_for(each.demand.allocator, each.preload)

        return Supervisor(each, server, leases=leases, **options)

    return Interleaving(launch, leases, supervisor_of)
