"""Trials in separate processes, bound by the part that their config names."""

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from orchestrator import Isolation, Machine
from orchestrator.execution.inline import InlineExecutor
from orchestrator.execution.process.fork_servers import ForkServers
from orchestrator.trial import TrialResult, TrialState
from tests.orchestrator.execution.conftest import Recorder
from tests.orchestrator.execution.supervised import launch_of
from tests.orchestrator.measurement import planted

PRELOAD = ("torch", "torch._dynamo")

Trained = Callable[..., TrialResult]


@pytest.fixture(scope="module")
def executor() -> Iterator[InlineExecutor]:
    servers = ForkServers()
    servers.warm([("tuned", PRELOAD)])
    made = InlineExecutor(servers)
    yield made
    made.close()


@pytest.fixture
def trained(executor: InlineExecutor, tmp_path: Path) -> Trained:
    """Return a function that trains the planted trainable once in a separate process."""
    return partial(train, executor, tmp_path)


def train(
    executor: InlineExecutor,
    folder: Path,
    *,
    epochs: int = 4,
    ceilings: bool = True,
    **values: Any,  # noqa: ANN401 - any knob
) -> TrialResult:
    """Train the planted trainable once in a separate process."""
    config = planted.Config(**values)
    launch = launch_of(
        folder, "planted", file=planted.FILE, config=config, preload=PRELOAD, epochs=epochs,
        demand=planted.demand(config, Machine(nodes=())), isolation=Isolation.LEASED,
        time_limit_s=None, ceilings_from_s=0.0 if ceilings else None,
    )  # fmt: skip
    recorder = Recorder([launch])
    executor.run(recorder)
    return recorder.results["planted"]


LOADER = {"resident": False, "sleep_ms": 4.0}
PLANTED = [
    pytest.param(LOADER, "loader", id="a loader that sleeps"),
    pytest.param({**LOADER, "num_workers": 2}, "loader", id="workers that sleep"),
    pytest.param({"hidden": 640}, "compute", id="ten times wider"),
    pytest.param({"hidden": 8, "batch_size": 8}, "host", id="tiny, resident"),
    pytest.param({"hidden": 64, "python_ms": 2.0}, "host", id="Python in the step"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("values", "bound"), PLANTED)
def test_finds_what_bounds_a_trial(trained: Trained, values: dict[str, Any], bound: str) -> None:
    result = trained(**values)
    assert result.state is TrialState.COMPLETED, result.reason
    assert result.tags["bound"] == bound


def test_ceilings_are_added_to_a_completed_trial_and_change_nothing_else(
    trained: Trained, tmp_path: Path
) -> None:
    result = trained(epochs=3, steps=70)
    after = tmp_path / "scratch" / "after"
    # A trial that other load has contaminated is run again.
    assert after.read_text() == "after the loop\n" * int(result.tags["attempts"])
    assert result.metrics["epochs"] == 3
    assert result.metrics["steps"] == 3 * 70
    assert sum(block[2] for block in result.blocks) == 0, "nothing timed since the last report"
    plain = trained(epochs=3, steps=70, ceilings=False)
    assert "headroom" not in plain.metrics
    sampled = {"run_queue_share"}  # a short trial may have no two samples
    assert plain.metrics.keys() - sampled < result.metrics.keys()


@pytest.mark.parametrize(
    ("after", "why"),
    [
        ("raise", "AssertionError: told to fail"),
        ("die", "the training process was killed by signal 9"),
    ],
)
def test_a_completed_trial_stays_completed_where_its_ceilings_fail(
    trained: Trained, after: str, why: str
) -> None:
    result = trained(after=after)
    assert result.state is TrialState.COMPLETED
    assert result.metrics["steps"] == 4 * 60
    assert "headroom" not in result.metrics
    assert "bound" in result.tags, "the phases still tell"
    assert why in result.tags["no_ceilings"]
