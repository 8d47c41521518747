"""Short trials without Ray, and all others by it.

Another inline executor replaces Ray's, which has the contract's tests, and records its launches.
"""

from dataclasses import replace
from itertools import count

import pytest

from orchestrator.errors import SweepError
from orchestrator.execution.inline import InlineExecutor, LocalExecutor
from orchestrator.execution.process.fork_servers import ForkServers
from orchestrator.kernel.executor import Executor, ExecutorLost, Launch
from orchestrator.trial import Isolation, Stage, TrialState
from tests.orchestrator.execution.conftest import LaunchOf, Recorder
from tests.orchestrator.execution.supervised import PRELOAD


class Starts:
    """Starts the replacement of Ray, and counts how often."""

    def __init__(self, servers: ForkServers) -> None:
        self._servers = servers
        self.count = 0

    def __call__(self) -> Executor:
        self.count += 1
        return InlineExecutor(self._servers)


@pytest.fixture
def starts(servers: ForkServers) -> Starts:
    return Starts(servers)


@pytest.fixture
def local(servers: ForkServers, starts: Starts) -> LocalExecutor:
    return LocalExecutor(servers, starts, imports=())


def shared(launch: Launch) -> Launch:
    """For the shared servers, and without a rerun if the machine is busy."""
    return replace(launch, isolation=Isolation.SHARED, preload=PRELOAD)


def test_short_trials_run_without_ray(
    local: LocalExecutor, starts: Starts, launch_of: LaunchOf
) -> None:
    conductor = Recorder([shared(launch_of(name, step_ms=0)) for name in "abc"])
    local.run(conductor)
    assert [result.state for result in conductor.results.values()] == [TrialState.COMPLETED] * 3
    assert starts.count == 0


def test_from_the_first_long_trial_on_all_run_by_ray(
    local: LocalExecutor, starts: Starts, launch_of: LaunchOf
) -> None:
    trials = [("a", 0), ("long", 50), ("b", 0)]
    conductor = Recorder([shared(launch_of(name, step_ms=ms)) for name, ms in trials])
    local.run(conductor)
    assert conductor.was_started == ["a", "long", "long", "b"], "Ray begins it again"
    assert {name: r.state for name, r in conductor.results.items()} == dict.fromkeys(
        ("a", "long", "b"), TrialState.COMPLETED
    )
    assert [report.epoch for report in conductor.reports["long"]] == [1, 2]
    assert conductor.results["long"].metrics["steps"] == 40
    assert starts.count == 1
    assert conductor.notes == []


@pytest.mark.parametrize("what", ["interleaved", "probe beside others", "GPUs", "ranks"])
def test_what_is_never_short_is_rays_from_the_start(
    local: LocalExecutor, launch_of: LaunchOf, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    launch = shared(launch_of("a", step_ms=0))
    launch = {
        "interleaved": replace(launch, others=(launch_of("b"),)),
        "probe beside others": replace(launch, trial=replace(launch.trial, stage=Stage.PROBE)),
        "GPUs": replace(launch, demand=replace(launch.demand, gpus=1)),
        "ranks": replace(launch, demand=replace(launch.demand, ranks=2)),
    }[what]
    given: list[object] = []
    monkeypatch.setattr(
        InlineExecutor, "run", lambda _, conductor: given.append(conductor.next_launch())
    )
    local.run(Recorder([launch]))
    assert given == [launch]


def test_a_ray_that_does_not_start_leaves_the_trial_without_a_row(
    servers: ForkServers, launch_of: LaunchOf
) -> None:
    def refuse() -> Executor:
        raise SweepError("Ray does not start on this machine: no room", "another way")

    local = LocalExecutor(servers, refuse, imports=())
    conductor = Recorder([shared(launch_of("a", step_ms=0)), shared(launch_of("long", step_ms=25))])
    with pytest.raises(ExecutorLost, match="Ray does not start on this machine: no room"):
        local.run(conductor)
    assert list(conductor.results) == ["a"]


def test_an_interrupt_meanwhile_starts_no_ray(
    local: LocalExecutor, starts: Starts, launch_of: LaunchOf
) -> None:
    conductor, ticks = Recorder([shared(launch_of("long", step_ms=25))]), count()

    def interrupt() -> None:
        conductor.interrupted = next(ticks) >= 2

    conductor.on_tick = interrupt
    local.run(conductor)
    assert (starts.count, conductor.results) == (0, {})
