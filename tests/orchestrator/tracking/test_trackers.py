"""The contract of all trackers."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from orchestrator.kernel.events import Event
from orchestrator.tracking.console.live import console
from orchestrator.tracking.console.log import Lines
from orchestrator.tracking.mlflow import MlflowMirror
from orchestrator.trial import TrialState
from tests.orchestrator.tracking.console.terminals import Terminal
from tests.orchestrator.tracking.in_mlflow import sqlite
from tests.orchestrator.tracking.journals import Scribe, make_trial

Tracker = Lines | MlflowMirror
MakeTracker = Callable[..., Tracker]


@pytest.fixture(params=["pipe", "terminal", "mlflow"])
def make(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[MakeTracker]:
    if request.param == "mlflow":
        uri = sqlite(tmp_path)
        yield lambda run_dir, past=(): MlflowMirror(run_dir, uri, say=pytest.fail, bound_s=0.1)
    elif request.param == "terminal":
        monkeypatch.setenv("TERM", "xterm-256color")
        with closing(Terminal()) as terminal:
            yield lambda run_dir, past=(): console(terminal.stream, past=past)
    else:
        reading, writing = os.pipe()
        with os.fdopen(writing, "w") as stream, os.fdopen(reading):
            yield lambda run_dir, past=(): console(stream, past=past)


def told_to(tracker: Tracker) -> Callable[[Event], None]:
    def tell(event: Event) -> None:
        tracker.apply(event)
        tracker.tick()

    return tell


def test_it_takes_a_sweep_with_everything_that_can_happen(
    make: MakeTracker, tmp_path: Path
) -> None:
    run_dir = tmp_path / "run"
    tracker = make(run_dir)
    tracker.tick()
    scribe = Scribe(run_dir, told_to(tracker))
    scribe.sweep()
    for number, state in enumerate(TrialState):
        scribe.whole(make_trial(number), state)
    again = make_trial(20)
    scribe.asked(again)
    scribe.record("merged", trial=make_trial(0).to_json())
    scribe.record("waiting", trial_id=again.id, seconds=31.0, what="a GPU")
    scribe.record("note", text="a note")
    scribe.started(again)
    scribe.ended(1)
    lines = tracker.close(1)
    assert all(isinstance(line, str) and line for line in lines)


def test_it_takes_a_run_that_goes_on(make: MakeTracker, tmp_path: Path) -> None:
    run_dir = tmp_path / "run"
    past: list[Event] = []
    before = Scribe(run_dir, past.append)
    before.sweep()
    before.whole(make_trial(0))
    before.started(before.asked(make_trial(1)))
    before.ended(130)
    tracker = make(run_dir, past)
    now = Scribe(run_dir, told_to(tracker))
    now.resumed()
    now.started(make_trial(1))
    now.finished(make_trial(1))
    now.ended(0)
    assert all(isinstance(line, str) and line for line in tracker.close(0))


def test_an_event_costs_little(make: MakeTracker, tmp_path: Path) -> None:
    run_dir = tmp_path / "run"
    tracker = make(run_dir)
    scribe = Scribe(run_dir, tracker.apply)
    scribe.sweep(num_planned=100)
    began = time.process_time()
    for number in range(100):
        scribe.whole(make_trial(number))
    per_event_s = (time.process_time() - began) / 600
    tracker.close(0)
    assert per_event_s < 0.002
