from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import pytest

from orchestrator import Isolation, Machine
from orchestrator.execution.inline import InlineExecutor
from orchestrator.execution.process.fork_servers import ForkServers
from orchestrator.kernel.events import Started
from orchestrator.kernel.executor import Executor, Launch
from orchestrator.kernel.search import Pause
from orchestrator.trial import Report, Trial, TrialResult
from tests import zygote
from tests.conftest import ROOT
from tests.leaks import guarding
from tests.orchestrator.execution import supervised
from tests.orchestrator.execution.supervised import PRELOAD
from tests.orchestrator.execution.workload import Config, demand

if TYPE_CHECKING:
    from orchestrator.execution.ray.executor import RayExecutor

WARM = [("tuned", ("torch",)), ("default", ("torch",))]
"""Fork servers of the shared executors: one that a test starts would seem to be left behind."""

BOTH = pytest.mark.parametrize(
    "executor", ["inline", pytest.param("ray", marks=pytest.mark.slow)], indirect=True
)
"""Mark of tests that take long on Ray, beyond its contract in ``test_contract.py``."""

HERE = Path(__file__).parent
WORKLOAD = HERE / "workload.py"


class Recorder:
    """A conductor that hands out launches in order and keeps all calls that it receives."""

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

    def started(self, start: Started) -> None:
        assert start.node
        assert start.cores >= 1
        self.was_started.append(start.trial_id)
        self.reports[start.trial_id] = [
            report
            for report in self.reports.get(start.trial_id, [])
            if report.epoch <= start.restored_epochs
        ]

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


def make_launch(folder: Path, name: str, **values: Any) -> Launch:  # noqa: ANN401 - any
    """Make a launch of ``workload.py`` that writes its files below ``folder``."""
    usual = {"epochs": 2, "time_limit_s": None, "isolation": Isolation.LEASED}
    usual |= {"file": WORKLOAD, "config": Config(), "preload": ("torch",)}
    launch = supervised.launch_of(folder, name, **{**usual, **values})
    return replace(launch, demand=demand(Config(**launch.trial.config), Machine(nodes=())))


@pytest.fixture
def launch_of(tmp_path: Path) -> LaunchOf:
    """Make a launch of the workload: ``launch_of("name", epochs=3, act="raise")``."""
    return partial(make_launch, tmp_path)


OPEN: dict[str, Executor] = {}
"""The executors that tests in a row share."""
CLOSING = ExitStack()
"""Closes them."""


@pytest.fixture(scope="module")
def ray_executor() -> RayExecutor:
    """One Ray for all tests, except tests of its start and death."""
    return _shared("ray")


@pytest.fixture(scope="module", params=["inline", "ray"])
def executor(request: pytest.FixtureRequest) -> Executor:
    """Every executor, through one contract."""
    return _shared(request.param)


def _shared(kind: str) -> Any:  # noqa: ANN401 - one of the two
    """Return the executor, made anew after its tests in a row have closed it."""
    if kind not in OPEN:
        zygote.start()
        OPEN[kind] = _ray() if kind == "ray" else _inline()
        CLOSING.callback(OPEN[kind].close)
    return OPEN[kind]


def _inline() -> InlineExecutor:
    with patch(zygote.PLACE, zygote.Forked):
        return InlineExecutor(_warm())


def _ray() -> RayExecutor:
    from orchestrator.execution.ray.executor import RayExecutor

    CLOSING.enter_context(guarding(ROOT, fail=pytest.fail))
    return RayExecutor(_warm())


def _warm() -> ForkServers:
    servers = ForkServers()
    servers.warm(WARM)
    return servers


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the tests that share an executor in a row.

    They come first, so that one worker has them all; last among tests that run alone, so that no
    other test is timed while an executor's processes run.
    """
    items.sort(key=lambda each: (-1, 1)["alone" in each.keywords] * _shared_executor(each))


def _shared_executor(item: pytest.Item) -> int:
    """Return 0 without one, 1 for the inline executor, 2 for Ray."""
    names = getattr(item, "fixturenames", ())
    if HERE not in item.path.parents or not {"executor", "ray_executor"} & set(names):
        return 0
    callspec = getattr(item, "callspec", None)
    return 1 if callspec is not None and callspec.params.get("executor") == "inline" else 2


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(
    item: pytest.Item, nextitem: pytest.Item | None
) -> Generator[None, None, None]:
    """Close a shared executor after the last of its tests: an idle Ray takes a core's time too.

    It closes before other fixtures are torn down, since what they guard began earlier.
    """
    if nextitem is None or _shared_executor(nextitem) != _shared_executor(item):
        CLOSING.close()
        OPEN.clear()
    yield


@pytest.fixture
def quick_servers() -> Iterator[None]:
    """Fork servers from the zygote, for tests that do not see the end of one's process."""
    zygote.start()
    with patch(zygote.PLACE, zygote.Forked):
        yield


@pytest.fixture(scope="session")
def servers() -> Iterator[ForkServers]:
    """A fork server with torch, for tests that do it no harm."""
    zygote.start()
    with guarding(ROOT, fail=pytest.fail):
        servers = ForkServers()
        with patch(zygote.PLACE, zygote.Forked):
            servers.warm([("tuned", PRELOAD)])
        yield servers
        servers.close()
