"""The lines that stay: for starts, ends and notes; figures and configs as text."""

from __future__ import annotations

import io
import re
import time
from pathlib import Path

import pytest

from orchestrator.kernel.events import Event
from orchestrator.storage.history import read_history
from orchestrator.tracking.console.live import console
from orchestrator.tracking.console.log import Lines, differing, named_figure
from orchestrator.trial import Stage, TrialState
from tests.orchestrator.tracking.console.terminals import Terminal
from tests.orchestrator.tracking.journals import Scribe, events_of, make_trial


@pytest.fixture
def scribe(tmp_path: Path) -> Scribe:
    scribe = Scribe(tmp_path)
    scribe.sweep()
    return scribe


def parts_of(scribe: Scribe, number: int) -> list[str]:
    """Return the parts of the lines of the last event, which is of a trial."""
    *past, last = events_of(scribe.run_dir)
    trial = read_history([*past, last]).trials[make_trial(number).id]
    lines = Lines(io.StringIO(), [*past, last])
    return [part for line in lines.lines_of(last, trial) for part in line.parts]


@pytest.mark.parametrize(
    ("state", "reason", "shown"),
    [
        (TrialState.FAILED, "bad \x1bluck\nits traceback", "failed: bad \\x1bluck"),
        (TrialState.NOT_RUN, "the time budget had ended", "not run: the time budget had ended"),
    ],
)
def test_a_reason_is_its_first_line_and_moves_no_cursor(
    scribe: Scribe, state: TrialState, reason: str, shown: str
) -> None:
    scribe.finished(scribe.asked(make_trial(0)), state, reason=reason)
    assert parts_of(scribe, 0)[-1] == shown


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("samples_per_s", 41_234, "41.2k samples/s"), ("samples_per_s", 41.234, "41.2 samples/s"),
        ("val_acc", 0.86667, "val_acc 0.8667"), ("step_ms", 12.34567, "step_ms 12.35 ms"),
        ("my_own", 0.123456, "my_own 0.1235"),
    ],
)  # fmt: skip
def test_a_figure_has_its_name_or_its_unit(name: str, value: float, text: str) -> None:
    assert named_figure(name, value) == text


def test_a_config_is_named_by_what_differs_from_the_baseline() -> None:
    baseline = {"lr": 0.003, "fanouts": [10, 25], "pin": False, "amp": "off"}
    same = {"lr": 0.003, "fanouts": (10, 25), "pin": False, "amp": "bf16"}
    varied = ["pin", "fanouts", "lr"]
    assert differing(same, baseline, varied) == ["baseline"]
    other = same | {"lr": 0.0200001, "pin": True, "fanouts": (5, 5)}
    assert differing(other, baseline, varied) == ["pin=on", "fanouts=5,5", "lr=0.02"]


# -- as a tracker


@pytest.fixture
def log(tmp_path: Path) -> tuple[io.StringIO, Lines, Scribe]:
    stream = io.StringIO()
    tracker = console(stream)
    return stream, tracker, Scribe(tmp_path / "run", tracker.apply)


def test_a_log_has_a_line_for_each_start_and_end(
    log: tuple[io.StringIO, Lines, Scribe],
) -> None:
    stream, tracker, scribe = log
    scribe.sweep()
    zeroth, second, third = make_trial(0), make_trial(2), make_trial(3, stage=Stage.CONFIRM)
    scribe.whole(zeroth)
    scribe.whole(second, TrialState.FAILED)
    scribe.whole(third)
    scribe.ended()
    tracker.tick()
    assert tracker.close(0) == []
    speed = named_figure("samples_per_s", 1e4 * (1 + int(zeroth.id[:6], 16) / 2**24))
    lines = [re.sub(r"^ +\d+:\d\d  ", "", line) for line in stream.getvalue().splitlines()]
    assert lines == [
        "loader: graphsage on products-synthetic, 4 trials, 2 cores a trial, seed 7",
        "baseline: num_workers=0  lr=0.003  (a trial's line names what differs)",
        f"start  {zeroth.id[:6]}  baseline",
        f"1/4    {zeroth.id[:6]}  baseline  completed  {speed}  val_acc 0.8667  1.5 s",
        f"start  {second.id[:6]}  num_workers=6",
        f"2/4    {second.id[:6]}  num_workers=6  failed: RuntimeError: no luck",
        "phase: confirm stage",
        f"start  {third.id[:6]} confirm  num_workers=8",
        lines[8],
    ]
    assert lines[8].startswith(f"3/4    {third.id[:6]} confirm  num_workers=8  completed")
    assert "\x1b" not in stream.getvalue()


def test_a_note_is_written_once(log: tuple[io.StringIO, Lines, Scribe]) -> None:
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
    past: list[Event] = []
    before = Scribe(tmp_path / "run", past.append)
    before.sweep()
    before.whole(make_trial(0))
    monkeypatch.setattr(time, "time", lambda: 1_700_000_000.0)  # a clock that was set back
    stream = io.StringIO()
    tracker = console(stream, past=past)
    assert stream.getvalue() == ""
    now = Scribe(tmp_path / "run", tracker.apply)
    now.resumed()
    now.whole(make_trial(1))
    assert "resumed: 1 trial done before" in stream.getvalue()
    assert make_trial(0).id[:6] not in stream.getvalue()
    assert "2/4" in stream.getvalue()


def test_after_an_interrupt_and_after_the_last_trial_a_log_says_what_is_done(
    log: tuple[io.StringIO, Lines, Scribe],
) -> None:
    stream, tracker, scribe = log
    scribe.sweep()
    tracker.interrupted("no further trial starts")
    assert "no further" not in stream.getvalue(), "a signal may come amid a write"
    scribe.started(scribe.asked(make_trial(0)))
    scribe.ended(130)
    tracker.phase("writing the tables")
    texts = [line.strip().split("  ", 1)[-1] for line in stream.getvalue().splitlines()]
    assert texts.count("! no further trial starts") == 1
    assert texts[-1] == "writing the tables"


@pytest.mark.parametrize(("name", "value"), [("TERM", "dumb"), ("JPY_PARENT_PID", "1")])
def test_a_terminal_that_cannot_move_its_cursor_and_a_notebook_get_lines(
    terminal: Terminal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    monkeypatch.setenv(name, value)
    tracker = console(terminal.stream)
    Scribe(tmp_path / "run", tracker.apply).sweep()
    tracker.tick()
    assert "\x1b" not in terminal.read()
