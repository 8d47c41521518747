"""Trials that are interleaved on one lease of cores."""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest

from orchestrator import Isolation, Machine
from orchestrator.kernel.executor import Executor, Launch
from orchestrator.measurement.time_slices import SLICE_S
from orchestrator.trial import Stage, TrialState
from tests.conftest import ROOT
from tests.leaks import guarding
from tests.orchestrator.execution.conftest import BOTH, Recorder
from tests.orchestrator.execution.greedy import Config, demand
from tests.orchestrator.execution.supervised import launch_of

Interleaved = Callable[..., Launch]

INLINE = pytest.mark.parametrize("executor", ["inline"], indirect=True)
"""For slices, which the executors share; both executors are tested on figures and ends."""


@pytest.fixture
def interleaved(tmp_path: Path) -> Interleaved:
    """Make a launch of interleaved trials: ``interleaved(a={...}, b={...})``, knobs by name."""
    return partial(_interleaved, tmp_path)


def _interleaved(folder: Path, *, epochs: int = 4, **knobs: dict[str, Any]) -> Launch:
    first, *others = (_launch(folder, name, epochs, knobs[name]) for name in knobs)
    return replace(first, others=tuple(others))


def _launch(folder: Path, name: str, epochs: int, knobs: dict[str, Any]) -> Launch:
    launch = launch_of(
        folder, name, epochs=epochs, isolation=Isolation.EXCLUSIVE, in_slices=True,
        num_items=50, **knobs,
    )  # fmt: skip
    confirm = replace(launch.trial, stage=Stage.CONFIRM, interleaved=True)
    asked = demand(Config(**confirm.config), Machine(nodes=()))
    # Preload of the shared executors: a server that a test starts would seem to be left behind.
    return replace(launch, trial=confirm, demand=asked, preload=("torch",))


@dataclass(frozen=True)
class Seen:
    """Records of the sweep that several tests look at."""

    loop: Recorder  # what the control loop received
    folder: Path  # where the trials wrote down when they were at work


@pytest.fixture(scope="module")
def sweep(executor: Executor, tmp_path_factory: pytest.TempPathFactory) -> Seen:
    """Three launches, one after the other."""
    folder = tmp_path_factory.mktemp("interleaved")
    retried = _interleaved(folder, epochs=2, revived={"act": "die_once", "retries": 1}, other={})
    (other,) = retried.others
    other = replace(other, demand=replace(other.demand, allocator="default"))
    conductor = Recorder(
        [
            _interleaved(folder, epochs=3, a={}, b={}, c={}),
            _interleaved(folder, epochs=1, good={}, bad={"act": "raise"}, also={}),
            replace(retried, others=(other,)),
        ]
    )
    with guarding(ROOT, fail=pytest.fail):
        executor.run(conductor)
    return Seen(conductor, folder)


def _at_work(folder: Path, name: str) -> list[tuple[float, float]]:
    """Return the times at which a trial or its workers were at work, on a clock that all share."""
    lines = (folder / "scratch" / f"book-{name}").read_text().splitlines()
    return sorted((float(begin), float(end)) for begin, end in map(str.split, lines))


def _stretches(folder: Path, *names: str) -> list[tuple[str, float]]:
    """Return the trials in the order of their work, with the seconds without another's work.

    A worker that was stopped amid an item ends it in the trial's next slice, so the ends of items
    show the slice's trial.
    """
    ends = sorted((end, name) for name in names for _, end in _at_work(folder, name))
    stretches = []
    for name, of_trial in groupby(ends, key=lambda item: item[1]):
        seconds = [end for end, _ in of_trial]
        stretches.append((name, seconds[-1] - seconds[0]))
    return stretches


@INLINE
def test_one_trial_works_at_a_time_with_its_workers(
    executor: Executor, interleaved: Interleaved, tmp_path: Path
) -> None:
    knobs = {"num_workers": 2}
    conductor = Recorder([interleaved(a=knobs, b=knobs, epochs=3)])

    executor.run(conductor)

    assert [r.state for r in conductor.results.values()] == [TrialState.COMPLETED] * 2
    stretches = _stretches(tmp_path, "a", "b")
    lengths = [seconds for _, seconds in stretches[:-2]]
    assert len(lengths) >= 4, "they were interleaved"
    assert min(lengths) > SLICE_S / 2, "and did not work in each other's slices"
    assert sorted(lengths)[len(lengths) // 2] < 3 * SLICE_S


@BOTH
def test_figures_are_of_a_trials_own_slices_only(sweep: Seen) -> None:
    for name in "abc":
        result = sweep.loop.results[name]
        work = _at_work(sweep.folder, name)
        took_s = work[-1][1] - work[0][0]
        train_s = result.metrics["train_s"]
        assert took_s > 2 * train_s, "two thirds of the time were the other trials'"
        assert result.metrics["samples_per_s"] == pytest.approx(3 * 50 * 8 / train_s, rel=0.1)
        assert result.metrics["epoch_s"] == pytest.approx(train_s / 3, rel=0.1)
        assert sweep.loop.reports[name][-1].elapsed_s < took_s / 2
        assert train_s < result.wall_s < took_s / 2 + 2
        assert result.metrics["busy_cores"] == pytest.approx(1, abs=0.15)
        assert result.metrics["foreign_share"] < 0.05
        assert result.tags["contaminated"] == "false"
        assert result.tags["interleaved"] == "true"
        assert result.isolation == "exclusive"


@INLINE
def test_a_faster_trial_has_fewer_slices_and_ends_with_the_others(
    executor: Executor, interleaved: Interleaved, tmp_path: Path
) -> None:
    conductor = Recorder([interleaved(fast={"step_ms": 1.0}, slow={"step_ms": 10.0}, epochs=4)])

    executor.run(conductor)

    ends = {name: _at_work(tmp_path, name)[-1][1] for name in ("fast", "slow")}
    assert abs(ends["fast"] - ends["slow"]) < 1.0, "of 1.2 s and 3 s"
    speeds = {name: r.metrics["samples_per_s"] for name, r in conductor.results.items()}
    assert 1.5 < speeds["fast"] / speeds["slow"] < 4, "15 ms a step beside 6 ms"


@BOTH
def test_a_trial_that_fails_leaves_the_others_running(sweep: Seen) -> None:
    results = sweep.loop.results
    assert results["good"].state is results["also"].state is TrialState.COMPLETED
    assert results["bad"].state is TrialState.FAILED
    assert "ValueError: asked to" in results["bad"].reason


@BOTH
def test_a_trial_that_died_is_tried_again_in_its_own_slices(sweep: Seen) -> None:
    loop = sweep.loop
    assert loop.results["revived"].state is loop.results["other"].state is TrialState.COMPLETED
    assert loop.results["revived"].tags["attempts"] == "2"
    assert loop.was_started.count("revived") == 2
    assert loop.was_started.count("other") == 1
    assert [report.epoch for report in loop.reports["revived"]] == [1, 2]


@BOTH
def test_each_has_the_allocator_that_it_asked_for(sweep: Seen) -> None:
    results = sweep.loop.results
    found = [results[name].tags["allocator"] for name in ("revived", "other")]
    assert found == ["tuned", "default"]


@BOTH
def test_an_interrupted_sweep_leaves_no_interleaved_trial(
    executor: Executor, interleaved: Interleaved, tmp_path: Path
) -> None:
    conductor = Recorder([interleaved(a={}, b={}, epochs=1000)])

    def interrupt() -> None:
        conductor.interrupted |= len(list((tmp_path / "scratch").glob("book-*"))) == 2

    conductor.on_tick = interrupt
    executor.run(conductor)

    assert conductor.results == {}
    time.sleep(0.5)  # Ray returns before those it has killed have gone
    before = {name: len(_at_work(tmp_path, name)) for name in ("a", "b")}
    time.sleep(4 * SLICE_S)
    assert {name: len(_at_work(tmp_path, name)) for name in ("a", "b")} == before
