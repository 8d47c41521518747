from __future__ import annotations

import io
import os
import pty
import re
import select
import struct
import termios
import time
from collections.abc import Callable, Iterator
from fcntl import ioctl
from pathlib import Path

import pytest

from orchestrator.tracking.console.tracker import ConsoleTracker
from orchestrator.tracking.console.wording import duration, figure, rate, setting
from orchestrator.trial import Stage, TrialState
from tests.orchestrator.tracking.journals import Scribe, make_trial

COLUMNS = 100
_MARK = "\x1b]0;read to here\x07"
"""What sets a terminal's title; nothing else here does."""


class Terminal:
    """A pseudo-terminal that remembers what was written to it."""

    def __init__(self) -> None:
        self._screen, keyboard = pty.openpty()
        ioctl(keyboard, termios.TIOCSWINSZ, struct.pack("HHHH", 40, COLUMNS, 0, 0))
        self.stream = os.fdopen(keyboard, "w")
        self.written = ""

    def read(self) -> str:
        """What was written since the last time, all of it: up to a mark of our own."""
        self.stream.write(_MARK)
        self.stream.flush()
        new = ""
        while not new.endswith(_MARK):
            assert select.select([self._screen], [], [], 10.0)[0], f"no mark after {new!r}"
            new += os.read(self._screen, 65536).decode()
        new = new.removesuffix(_MARK)
        self.written += new
        return new

    def drain(self) -> None:
        """Takes what is there, beside another thread that writes."""
        while select.select([self._screen], [], [], 0.1)[0]:
            os.read(self._screen, 65536)

    def close(self) -> None:
        self.stream.close()
        os.close(self._screen)


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Iterator[Terminal]:
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.delenv("COLUMNS", raising=False)
    terminal = Terminal()
    yield terminal
    terminal.close()


def plain(text: str) -> str:
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text)


def last_view(terminal: Terminal, tick: Callable[[], None]) -> list[str]:
    """The lines that one tick draws."""
    terminal.read()
    tick()
    return [line.rstrip() for line in plain(terminal.read()).splitlines() if line.strip()]


# -- into a file


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


def test_a_note_is_said_once(log: tuple[io.StringIO, ConsoleTracker, Scribe]) -> None:
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


def test_what_an_earlier_process_did_is_counted_and_not_told_again(
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


# -- on a terminal


def test_a_terminal_shows_how_the_sweep_stands(terminal: Terminal, tmp_path: Path) -> None:
    tracker = ConsoleTracker(terminal.stream)
    scribe = Scribe(tmp_path / "run", tracker.on_event)
    scribe.sweep(num_planned=6)
    trials = [make_trial(number) for number in range(5)]
    scribe.whole(trials[0])
    scribe.whole(trials[1])
    scribe.whole(trials[2], TrialState.INFEASIBLE)
    scribe.started(scribe.asked(trials[3]))
    scribe.reported(trials[3], 2)
    lines = last_view(terminal, tracker.tick)

    assert re.search(r"3 of 6 done, 0:0\d so far, about 0:0\d left$", lines[0])
    assert lines[1] == "2 completed  1 infeasible  1 running  2 waiting"
    heads = "best so far samples/s vs base val_acc num_workers lr"
    assert re.sub(" +", " ", lines[2]) == heads
    speeds = {n: 1e4 * (1 + int(trials[n].id[:6], 16) / 2**24) for n in (0, 1, 3)}
    leader = max((0, 1), key=lambda n: speeds[n])
    ratio = f"{speeds[leader] / speeds[0]:.2f}x"
    assert lines[3].split()[0] == "recommended"
    assert lines[3].split()[3:] == [ratio, "0.8667", str((0, 3)[leader]), "0.003"]
    assert re.match(r"━{6} 2/3 0:0\d ", lines[-1])
    assert lines[-1].split()[-4:] == ["0.8500", "8", "0.003", trials[3].id[:6]]
    assert rate(speeds[3]).split()[0] in lines[-1]
    tracker.close(0)
    everything = plain(terminal.written + terminal.read())
    assert "✗ infeasible: RuntimeError: no luck" in everything


def test_the_time_left_is_known_before_the_first_trial_ends(
    terminal: Terminal, tmp_path: Path
) -> None:
    tracker = ConsoleTracker(terminal.stream)
    scribe = Scribe(tmp_path / "run", tracker.on_event)
    scribe.sweep(num_planned=4)
    assert "left" not in last_view(terminal, tracker.tick)[0]
    trial = scribe.asked(make_trial(0))
    scribe.started(trial)
    time.sleep(1.0)
    scribe.reported(trial, 1)  # a third of a trial took 1 s: 2 s more, then 3 trials of 3 s
    assert re.search(r"about 0:1[01234] left$", last_view(terminal, tracker.tick)[0])
    tracker.close(0)


def test_the_view_stays_small_and_goes_away(terminal: Terminal, tmp_path: Path) -> None:
    tracker = ConsoleTracker(terminal.stream)
    scribe = Scribe(tmp_path / "run", tracker.on_event)
    scribe.sweep(num_planned=None)
    for number in range(3):
        scribe.whole(make_trial(number))
    for number in range(10, 40):
        scribe.started(scribe.asked(make_trial(number)))
    lines = last_view(terminal, tracker.tick)
    assert len(lines) <= 12
    assert all(len(line) <= COLUMNS for line in lines)
    assert lines[-1] == "and 25 more are running"
    assert "3 done" in lines[0]
    terminal.read()
    tracker.close(130)
    end = terminal.read()
    assert "\x1b[?25h" in end  # the cursor is back
    assert "\x1b[2K" in end  # and the lines are cleared


def test_one_reason_is_shown_once_however_many_trials_have_it(
    terminal: Terminal, tmp_path: Path
) -> None:
    tracker = ConsoleTracker(terminal.stream)
    scribe = Scribe(tmp_path / "run", tracker.on_event)
    scribe.sweep()
    for number in range(8):
        scribe.whole(make_trial(number), TrialState.INFEASIBLE)
    tracker.close(0)
    assert plain(terminal.read()).count("✗ infeasible") == 1


def test_a_tick_costs_the_trials_next_to_nothing(terminal: Terminal, tmp_path: Path) -> None:
    tracker = ConsoleTracker(terminal.stream)
    scribe = Scribe(tmp_path / "run", tracker.on_event)
    scribe.sweep(num_planned=400)
    for number in range(200):
        scribe.whole(make_trial(number))
    scribe.started(scribe.asked(make_trial(300)))
    tracker.tick()
    began = time.process_time()
    for _ in range(20):
        tracker.tick()
        terminal.read()
    per_tick_s = (time.process_time() - began) / 20
    tracker.close(0)
    assert per_tick_s < 0.025  # 5 % of a core at two ticks a second; seen: 3 ms


def test_a_terminal_that_cannot_move_its_cursor_gets_lines(
    terminal: Terminal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TERM", "dumb")
    tracker = ConsoleTracker(terminal.stream)
    Scribe(tmp_path / "run", tracker.on_event).sweep()
    tracker.tick()
    assert "\x1b" not in terminal.read()


def test_what_a_trial_waits_for_is_shown_as_long_as_it_waits(
    terminal: Terminal, tmp_path: Path
) -> None:
    tracker = ConsoleTracker(terminal.stream)
    scribe = Scribe(tmp_path / "run", tracker.on_event)
    scribe.sweep()
    trial = scribe.asked(make_trial(0))
    scribe.record("waiting", trial_id=trial.id, seconds=30.3, what="2 cores")
    assert last_view(terminal, tracker.tick)[-1] == f"{trial.id[:6]} has waited 0:30 for 2 cores"
    scribe.started(trial)
    assert "has waited" not in "".join(last_view(terminal, tracker.tick))
    tracker.close(0)


def test_what_was_running_when_a_driver_died_does_not_run_in_the_next(
    terminal: Terminal, tmp_path: Path
) -> None:
    tracker = ConsoleTracker(terminal.stream)
    scribe = Scribe(tmp_path / "run", tracker.on_event)
    scribe.sweep()
    scribe.started(scribe.asked(make_trial(0)))
    scribe.resumed()
    assert last_view(terminal, tracker.tick)[1] == "0 running  4 waiting"
    tracker.close(0)


# -- words


def test_figures_read_well() -> None:
    assert [rate(v) for v in (0.5, 9.999, 99.99, 999.6, 41_234, 1.2e6)] == [
        "0.50 /s",
        "10.0 /s",
        "100 /s",
        "1.00 k/s",
        "41.2 k/s",
        "1.20 M/s",
    ]
    assert [duration(s) for s in (-1, 42.4, 725, 3753)] == ["0:00", "0:42", "12:05", "1:02:33"]
    assert figure("step_ms", 12.34567) == "12.35 ms"
    assert figure("my_own", 0.123456) == "0.1235"
    assert [setting(v) for v in (True, 0.0030001, (10, 25), "bf16")] == [
        "on",
        "0.003",
        "10,25",
        "bf16",
    ]
