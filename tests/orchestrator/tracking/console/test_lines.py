"""A log has lines for starts, ends and notes, and nothing else."""

from __future__ import annotations

import io
import re
import time
from pathlib import Path

import pytest

from orchestrator.tracking.console.tracker import ConsoleTracker
from orchestrator.tracking.console.wording import figure
from orchestrator.trial import Stage, TrialState
from tests.orchestrator.tracking.journals import Scribe, make_trial


@pytest.fixture
def log(tmp_path: Path) -> tuple[io.StringIO, ConsoleTracker, Scribe]:
    stream = io.StringIO()
    tracker = ConsoleTracker(stream)
    return stream, tracker, Scribe(tmp_path / "run", tracker.on_event)


def test_a_log_has_a_line_for_each_start_and_end(
    log: tuple[io.StringIO, ConsoleTracker, Scribe],
) -> None:
    stream, tracker, scribe = log
    scribe.sweep()
    first, second, third = make_trial(1), make_trial(2), make_trial(3, stage=Stage.CONFIRM)
    scribe.whole(first)
    scribe.whole(second, TrialState.FAILED)
    scribe.whole(third)
    scribe.ended()
    tracker.tick()
    assert tracker.close(0) == []
    speed = figure("samples_per_s", 1e4 * (1 + int(first.id[:6], 16) / 2**24))
    lines = [re.sub(r"^ +\d+:\d\d  ", "", line) for line in stream.getvalue().splitlines()]
    assert lines == [
        "loader: graphsage on products-synthetic, 4 trials, 2 cores a trial, seed 7",
        f"start {first.id[:6]} num_workers=3 lr=0.003",
        f"1/4   {first.id[:6]} num_workers=3 lr=0.003  completed  samples {speed}"
        "  val_acc 0.8667  1.5 s",
        f"start {second.id[:6]} num_workers=6 lr=0.003",
        f"2/4   {second.id[:6]} num_workers=6 lr=0.003  failed: RuntimeError: no luck",
        "stage confirm",
        f"start {third.id[:6]} confirm num_workers=8 lr=0.003",
        lines[7],
        "trials have ended; writing the tables, the report and MLflow",
    ]
    assert lines[7].startswith(f"3/4   {third.id[:6]} confirm")
    assert "\x1b" not in stream.getvalue()


def test_a_note_is_written_once(log: tuple[io.StringIO, ConsoleTracker, Scribe]) -> None:
    stream, tracker, scribe = log
    scribe.sweep()
    for _ in range(3):
        scribe.record("note", text="the disk is nearly full")
        tracker.note("MLflow is away")
    held_up = scribe.asked(make_trial(0))
    for seconds in (10.1, 20.2):
        scribe.record("waiting", trial_id=held_up.id, seconds=seconds, what="2 GPUs")
    assert stream.getvalue().count("! the disk is nearly full") == 1
    assert stream.getvalue().count("! MLflow is away") == 1
    assert stream.getvalue().count(f"! {held_up.id[:6]} has waited 0:10 for 2 GPUs") == 1
    assert stream.getvalue().count("2 GPUs") == 1


def test_trials_of_an_earlier_process_are_counted_and_not_shown_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    past: list[dict[str, object]] = []
    before = Scribe(tmp_path / "run", past.append)
    before.sweep()
    before.whole(make_trial(0))
    monkeypatch.setattr(time, "time", lambda: 1_700_000_000.0)  # a clock that was set back
    stream = io.StringIO()
    tracker = ConsoleTracker(stream)
    tracker.resume(past)
    assert stream.getvalue() == ""
    now = Scribe(tmp_path / "run", tracker.on_event)
    now.resumed()
    now.whole(make_trial(1))
    assert "going on: 1 trial done before" in stream.getvalue()
    assert make_trial(0).id[:6] not in stream.getvalue()
    assert "2/4" in stream.getvalue()
