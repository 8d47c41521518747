"""Trials that train in others' turns, so that these are beside others."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from orchestrator import Isolation
from orchestrator.execution.base import Executor, Launch, Started
from orchestrator.execution.leases import CoreLeases
from orchestrator.execution.process.fork_client import ForkServers
from orchestrator.measurement.time_slices import SLICE_S
from orchestrator.trial import TrialResult, TrialState
from tests.orchestrator.execution.conftest import Recorder
from tests.orchestrator.execution.supervised import supervised
from tests.orchestrator.execution.test_interleaving import _at_work, _launch

needs_two_cores = pytest.mark.skipif(
    len(os.sched_getaffinity(0)) < 2, reason="needs two cores for two at once"
)

WithCompany = Callable[..., Launch]


@pytest.fixture
def with_company(tmp_path: Path) -> WithCompany:
    """A launch of ``alone`` and ``beside`` in turns, with a ``companion``; knobs by name."""

    def make(*, epochs: int = 4, **knobs: dict[str, Any]) -> Launch:
        def launch(name: str) -> Launch:
            return _launch(tmp_path, name, epochs, knobs.get(name, {}))

        beside = launch("beside")
        companion = _launch(tmp_path, "companion", 1000, knobs.get("companion", {}))
        companion = replace(
            companion,
            trial=replace(companion.trial, companion=True),
            isolation=Isolation.LEASED,
            interleaved=False,
        )
        others = (replace(beside, isolation=Isolation.LEASED), companion)
        return replace(launch("isolated"), others=others)

    return make


def _overlap(folder: Path, of: str, other: str) -> float:
    """Share of one's items that ended while the other was at work.

    An item within which the other was stopped takes as long as what it was stopped for.
    """
    others = [(begin, end) for begin, end in _at_work(folder, other) if end - begin < SLICE_S / 4]
    ends = [end for _, end in _at_work(folder, of)]
    shared = [end for end in ends if any(begin < end < until for begin, until in others)]
    return len(shared) / len(ends)


@needs_two_cores
def test_who_is_not_alone_has_company_in_all_of_its_turns(
    executor: Executor, with_company: WithCompany, tmp_path: Path
) -> None:
    conductor = Recorder([with_company()])

    executor.run(conductor)

    results = conductor.results
    assert {name: result.state for name, result in results.items()} == {
        "isolated": TrialState.COMPLETED,
        "beside": TrialState.COMPLETED,
        "companion": TrialState.STOPPED,
    }
    assert _overlap(tmp_path, "beside", "companion") > 0.75, "all but items that it was stopped in"
    assert _overlap(tmp_path, "isolated", "companion") < 0.1
    before = [end for _, end in _at_work(tmp_path, "companion")][:50]
    assert before[-1] < _at_work(tmp_path, "beside")[0][0], "it had set up, an epoch behind it"
    assert results["isolated"].isolation == "exclusive"
    assert results["beside"].isolation == "leased"
    assert results["isolated"].metrics["others_cores"] == 0
    assert results["beside"].metrics["others_cores"] == 1
    assert results["isolated"].tags["core_ids"] == results["beside"].tags["core_ids"]
    assert results["companion"].tags["core_ids"] != results["beside"].tags["core_ids"]
    assert {results[name].tags["contaminated"] for name in ("isolated", "beside")} == {"false"}
    assert results["companion"].metrics == {}, "it was stopped amid steps"
    assert "not measured" in results["companion"].reason
    assert conductor.reports["companion"] == []


@needs_two_cores
@pytest.mark.parametrize("act", ["raise", pytest.param("die_once", marks=pytest.mark.slow)])
def test_company_that_fails_takes_nobody_with_it(
    executor: Executor, with_company: WithCompany, act: str
) -> None:
    conductor = Recorder([with_company(companion={"act": act})])

    executor.run(conductor)

    states = {name: result.state for name, result in conductor.results.items()}
    assert states.pop("companion") is TrialState.FAILED
    assert set(states.values()) == {TrialState.COMPLETED}
    left = conductor.results["beside"].metrics["others_cores"]
    assert left < 0.9, "it had company for a part of its time, or for none"


@needs_two_cores
def test_a_sweep_that_is_interrupted_leaves_no_company(
    executor: Executor, with_company: WithCompany, tmp_path: Path
) -> None:
    conductor = Recorder([with_company(epochs=1000)])

    def interrupt() -> None:
        conductor.interrupted |= len(list((tmp_path / "scratch").glob("book-*"))) == 3

    conductor.on_tick = interrupt
    executor.run(conductor)

    assert conductor.results == {}
    time.sleep(0.5)  # Ray returns before those it has killed have gone
    before = len(_at_work(tmp_path, "companion"))
    time.sleep(1.0)
    assert len(_at_work(tmp_path, "companion")) == before


def test_company_without_a_core_of_its_own_never_trains(
    with_company: WithCompany, tmp_path: Path
) -> None:
    """On a node with fewer than were asked for."""
    leases = CoreLeases(tmp_path / "leases", sorted(os.sched_getaffinity(0))[:1])
    servers = ForkServers()
    running = supervised(with_company(epochs=1), servers, leases)
    results, started = dict[str, TrialResult](), []
    try:
        assert running.acquire_cores(timeout_s=30)
        while not running.has_ended:
            heard = running.next_update(5.0)
            assert heard is not None
            trial, update = heard
            if isinstance(update, Started):
                started.append(trial.id)
            if isinstance(update, TrialResult):
                results[trial.id] = update
    finally:
        running.close()
        servers.close()
    assert started == ["isolated", "beside"]
    assert "found no cores" in results["companion"].reason
    assert {name: result.state for name, result in results.items()} == {
        "isolated": TrialState.COMPLETED,
        "beside": TrialState.COMPLETED,
        "companion": TrialState.STOPPED,
    }
