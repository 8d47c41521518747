"""Trials that take turns on one lease of cores."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest

from orchestrator import Isolation, Machine
from orchestrator.execution.base import Executor, Launch, Source
from orchestrator.execution.inline import InlineExecutor
from orchestrator.execution.supervision import stall as stall
from orchestrator.measurement.time_slices import SLICE_S
from orchestrator.trial import Stage, TrialState
from tests.orchestrator.execution.conftest import Recorder
from tests.orchestrator.execution.supervised import launch_of
from tests.orchestrator.execution.witnessed import Config, demand

FILE = Path(__file__).with_name("witnessed.py")

InTurns = Callable[..., Launch]


@pytest.fixture
def interleaved(tmp_path: Path) -> InTurns:
    """A launch of trials that take turns: ``interleaved(a={...}, b={...})``, knobs by name."""

    def make(*, epochs: int = 4, **knobs: dict[str, Any]) -> Launch:
        first, *others = (_launch(tmp_path, name, epochs, knobs[name]) for name in knobs)
        return replace(first, others=tuple(others))

    return make


def _launch(folder: Path, name: str, epochs: int, knobs: dict[str, Any]) -> Launch:
    own = {knob: value for knob, value in knobs.items() if hasattr(Config(), knob)}
    config = Config(**own)
    others = {field: value for field, value in knobs.items() if field not in own}
    launch = launch_of(folder, name, epochs=epochs, isolation=Isolation.EXCLUSIVE, **others)
    confirm = replace(
        launch.trial, stage=Stage.CONFIRM, config=dict(config.__dict__), interleaved=True
    )
    return replace(
        launch,
        trial=confirm,
        source=Source(file=str(FILE)),
        demand=demand(config, Machine(nodes=())),
        preload=("torch",),
        interleaved=True,
    )


def _at_work(folder: Path, name: str) -> list[tuple[float, float]]:
    """When a trial or its workers were at work, as seconds of a clock that all share."""
    lines = (folder / "scratch" / f"book-{name}").read_text().splitlines()
    return sorted((float(begin), float(end)) for begin, end in map(str.split, lines))


def _stretches(folder: Path, *names: str) -> list[tuple[str, float]]:
    """Who was at work, one after the other, and for how many seconds without another's work.

    A worker that was stopped amid an item ends it in its next turn: ends tell whose turn it was.
    """
    ends = sorted((end, name) for name in names for _, end in _at_work(folder, name))
    found = []
    for name, of_one in groupby(ends, key=lambda one: one[1]):
        seconds = [end for end, _ in of_one]
        found.append((name, seconds[-1] - seconds[0]))
    return found


@pytest.mark.parametrize("num_workers", [0, 2])
def test_one_is_at_work_at_a_time_with_its_workers(
    executor: Executor, interleaved: InTurns, tmp_path: Path, num_workers: int
) -> None:
    knobs = {"num_workers": num_workers}
    conductor = Recorder([interleaved(a=knobs, b=knobs, epochs=5)])

    executor.run(conductor)

    assert [r.state for r in conductor.results.values()] == [TrialState.COMPLETED] * 2
    stretches = _stretches(tmp_path, "a", "b")
    lengths = [seconds for _, seconds in stretches[:-2]]
    assert len(lengths) >= 4, "they have taken turns"
    assert min(lengths) > SLICE_S / 2, "and not worked in each other's"
    assert sorted(lengths)[len(lengths) // 2] < 3 * SLICE_S


def test_what_they_tell_is_of_their_own_turns_alone(
    executor: Executor, interleaved: InTurns, tmp_path: Path
) -> None:
    conductor = Recorder([interleaved(a={}, b={}, c={})])

    executor.run(conductor)

    for name, result in conductor.results.items():
        work = _at_work(tmp_path, name)
        took_s = work[-1][1] - work[0][0]
        train_s = result.metrics["train_s"]
        assert took_s > 2 * train_s, "two thirds of the time were others'"
        assert result.metrics["samples_per_s"] == pytest.approx(4 * 50 * 8 / train_s, rel=0.1)
        assert result.metrics["epoch_s"] == pytest.approx(train_s / 4, rel=0.1)
        assert conductor.reports[name][-1].elapsed_s < took_s / 2
        assert result.wall_s is not None
        assert train_s < result.wall_s < took_s / 2 + 2
        assert result.metrics["busy_cores"] == pytest.approx(1, abs=0.15)
        assert result.metrics["foreign_share"] < 0.05
        assert result.tags["contaminated"] == "false"
        assert result.tags["interleaved"] == "true"
        assert result.isolation == "exclusive"


def test_one_that_is_faster_has_fewer_turns_and_ends_with_the_others(
    executor: Executor, interleaved: InTurns, tmp_path: Path
) -> None:
    conductor = Recorder([interleaved(fast={"step_ms": 1.0}, slow={"step_ms": 10.0}, epochs=8)])

    executor.run(conductor)

    ends = {name: _at_work(tmp_path, name)[-1][1] for name in ("fast", "slow")}
    assert abs(ends["fast"] - ends["slow"]) < 1.2, "of 2.4 s and 6 s"
    speeds = {name: r.metrics["samples_per_s"] for name, r in conductor.results.items()}
    assert 1.5 < speeds["fast"] / speeds["slow"] < 4, "15 ms a step beside 6 ms"


def test_who_is_done_in_its_first_turn_has_taken_none(
    executor: Executor, interleaved: InTurns, tmp_path: Path
) -> None:
    knobs = {"num_steps": 5}
    conductor = Recorder([interleaved(a=knobs, b=knobs, epochs=1)])

    executor.run(conductor)

    assert all("interleaved" not in result.tags for result in conductor.results.values())
    assert len(_stretches(tmp_path, "a", "b")) == 2


def test_one_that_fails_takes_no_other_with_it(executor: Executor, interleaved: InTurns) -> None:
    conductor = Recorder([interleaved(good={}, bad={"act": "raise"}, also={})])

    executor.run(conductor)

    states = {name: result.state for name, result in conductor.results.items()}
    assert states == {
        "good": TrialState.COMPLETED,
        "bad": TrialState.FAILED,
        "also": TrialState.COMPLETED,
    }
    assert "ValueError: told to" in conductor.results["bad"].reason


def test_one_that_died_is_tried_again_in_its_turns(
    executor: Executor, interleaved: InTurns
) -> None:
    conductor = Recorder([interleaved(revived={"act": "die_once", "retries": 1}, other={})])

    executor.run(conductor)

    assert [r.state for r in conductor.results.values()] == [TrialState.COMPLETED] * 2
    assert conductor.results["revived"].tags["attempts"] == "2"
    assert conductor.was_started.count("revived") == 2
    assert conductor.was_started.count("other") == 1
    assert [report.epoch for report in conductor.reports["revived"]] == [1, 2, 3, 4]


@pytest.mark.slow
def test_one_with_too_much_memory_is_ended(executor: Executor, interleaved: InTurns) -> None:
    conductor = Recorder([interleaved(eats={"act": "eat", "memory_limit_gib": 1.0}, other={})])

    executor.run(conductor)

    assert conductor.results["eats"].state is TrialState.INFEASIBLE
    assert "above the trial's limit of 1.00 GiB" in conductor.results["eats"].reason
    assert conductor.results["other"].state is TrialState.COMPLETED


def test_one_that_waits_for_what_another_holds_is_given_up(
    interleaved: InTurns, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One after another they would do: a lock for as long as each lives."""
    monkeypatch.setattr(stall, "LIMIT_INTERLEAVED_S", 2.0)
    conductor = Recorder([interleaved(holds={"act": "lock"}, waits={"act": "lock"})])
    inline = InlineExecutor([("tuned", ("torch",))])
    try:
        inline.run(conductor)
    finally:
        inline.close()

    assert conductor.results["holds"].state is TrialState.COMPLETED
    assert conductor.results["waits"].state is TrialState.FAILED
    assert "may wait for what one holds that takes turns" in conductor.results["waits"].reason


@pytest.mark.slow
def test_a_time_limit_counts_a_trials_own_turns(executor: Executor, interleaved: InTurns) -> None:
    knobs = {"time_limit_s": 4.0}  # two take about two seconds and a half of their own
    conductor = Recorder([interleaved(a=knobs, b=knobs, c={**knobs, "step_ms": 50.0})])

    executor.run(conductor)

    states = {name: result.state for name, result in conductor.results.items()}
    assert states["a"] is states["b"] is TrialState.COMPLETED
    assert states["c"] is TrialState.INFEASIBLE


def test_a_sweep_that_is_interrupted_leaves_none_of_them(
    executor: Executor, interleaved: InTurns, tmp_path: Path
) -> None:
    conductor = Recorder([interleaved(a={}, b={}, epochs=1000)])

    def interrupt() -> None:
        conductor.interrupted |= len(list((tmp_path / "scratch").glob("book-*"))) == 2

    conductor.on_tick = interrupt
    executor.run(conductor)

    assert conductor.results == {}
    time.sleep(0.5)  # Ray returns before those it has killed have gone
    before = {name: len(_at_work(tmp_path, name)) for name in ("a", "b")}
    time.sleep(1.5)
    assert {name: len(_at_work(tmp_path, name)) for name in ("a", "b")} == before
