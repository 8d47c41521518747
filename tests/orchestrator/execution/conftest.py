from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from orchestrator import DataFolders, Demand, Isolation, Machine
from orchestrator.execution.base import Executor, Launch, Source
from orchestrator.execution.inline import InlineExecutor
from orchestrator.execution.process.fork_client import ForkServers
from orchestrator.search.base import Pause
from orchestrator.trial import Budget, Report, Stage, Trial, TrialResult
from tests.orchestrator.execution.supervised import PRELOAD
from tests.orchestrator.execution.workload import Config, demand

WORKLOAD = Path(__file__).with_name("workload.py")


class Recorder:
    """A conductor that hands out launches in order and keeps all that it hears."""

    def __init__(
        self, launches: list[Launch], stop_when: Callable[[Trial, Report], bool] | None = None
    ) -> None:
        self._left = list(launches)
        self._stop_when = stop_when or (lambda _trial, _report: False)
        self.interrupted = False
        self.was_started: list[str] = []
        self.reports: dict[str, list[Report]] = {}
        self.results: dict[str, TrialResult] = {}
        self.waited: list[str] = []
        self.notes: list[str] = []
        self.on_tick: Callable[[], None] = lambda: None

    def next_launch(self) -> Launch | Pause | None:
        return self._left.pop(0) if self._left else None

    def started(self, trial: Trial, *, node: str, cores: int, restored_epochs: int = 0) -> None:
        assert node
        assert cores >= 1
        self.was_started.append(trial.id)
        before = self.reports.get(trial.id, [])
        self.reports[trial.id] = [report for report in before if report.epoch <= restored_epochs]

    def reported(self, trial: Trial, report: Report) -> bool:
        self.reports.setdefault(trial.id, []).append(report)
        return self._stop_when(trial, report)

    def finished(self, trial: Trial, result: TrialResult) -> None:
        assert trial.id not in self.results, "a trial has one result"
        self.results[trial.id] = result

    def waiting(self, trial: Trial, seconds: float, what: str) -> None:
        self.waited.append(what)

    def note(self, text: str) -> None:
        if text not in self.notes:
            self.notes.append(text)

    def tick(self) -> None:
        self.on_tick()


LaunchOf = Callable[..., Launch]


@pytest.fixture
def launch_of(tmp_path: Path) -> LaunchOf:
    """Makes a launch of the workload: ``launch_of("name", epochs=3, act="raise")``."""

    def make(
        name: str,
        *,
        epochs: int = 2,
        time_limit_s: float | None = None,
        retries: int = 0,
        isolation: Isolation = Isolation.LEASED,
        num_cores: int = 1,
        memory_limit_gib: float | None = None,
        **values: Any,  # noqa: ANN401 - knobs of the workload
    ) -> Launch:
        config = Config(**values)
        asked: Demand = demand(config, Machine(nodes=()))
        return Launch(
            trial=Trial(
                id=name,
                stage=Stage.TRAIN,
                config=dict(config.__dict__),
                budget=Budget(epochs=epochs),
                seed=0,
            ),
            source=Source(file=str(WORKLOAD)),
            demand=asked,
            num_cores=num_cores,
            isolation=isolation,
            data="",
            folders=DataFolders(root=tmp_path, cache=tmp_path),
            preload=("torch",),
            time_limit_s=time_limit_s,
            retries=retries,
            scratch=tmp_path / "scratch",
            memory_limit_gib=memory_limit_gib,
        )

    return make


@pytest.fixture(scope="module", params=["inline", "ray"])
def executor(request: pytest.FixtureRequest) -> Iterator[Executor]:
    """Every executor, through one contract."""
    preload = [("tuned", ("torch",)), ("default", ("torch",))]
    if request.param == "inline":
        made: Executor = InlineExecutor(preload)
    else:
        from orchestrator.execution.ray.executor import RayExecutor

        made = RayExecutor(preload=preload)
    yield made
    made.close()


@pytest.fixture(scope="module")
def servers() -> Iterator[ForkServers]:
    """A fork server with torch."""
    made = ForkServers()
    made.warm([("tuned", PRELOAD)])
    yield made
    made.close()
