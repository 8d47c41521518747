"""The console: the view on a terminal, and what a tick costs; lines in a file; words."""

import io
import re
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from orchestrator.kernel.events import Event
from orchestrator.storage.history import SweepHistory
from orchestrator.tracking.console.live import Lines
from orchestrator.tracking.console.words import differing, named_figure
from orchestrator.trial import Stage, TrialState
from tests.orchestrator.tracking.console.terminals import COLUMNS, ROWS, Terminal, last_view
from tests.orchestrator.tracking.journals import Scribe, make_record, make_trial

Shown = tuple[Lines, Scribe]


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Iterator[Terminal]:
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.delenv("JPY_PARENT_PID", raising=False)
    # rich does not ask for the size of a terminal that is no standard stream.
    monkeypatch.setenv("COLUMNS", str(COLUMNS))
    monkeypatch.setenv("LINES", str(ROWS))
    terminal = Terminal()
    yield terminal
    terminal.close()


@pytest.fixture
def shown(terminal: Terminal, tmp_path: Path) -> Shown:
    """The view of a sweep on the terminal, and what writes its events."""
    tracker = Lines(terminal.stream)
    return tracker, Scribe(tmp_path / "run", tracker.apply)


def test_a_terminal_shows_the_progress_of_the_sweep(terminal: Terminal, tmp_path: Path) -> None:
    best = "best so far: num_workers=3  15,000 samples/s  val_acc 86.67 %"
    tracker = Lines(terminal.stream, find_best=lambda _: best)
    scribe = Scribe(tmp_path / "run", tracker.apply).sweep(num_planned=6)
    trials = [make_trial(number) for number in range(5)]
    scribe.whole(trials[0])
    scribe.whole(trials[1])
    scribe.whole(trials[2], TrialState.INFEASIBLE)
    scribe.started(scribe.asked(trials[3]))
    scribe.reported(trials[3], 2)
    lines = last_view(terminal, tracker.tick)

    assert re.search(r"^━+[╸╺]━+ +3 of 6 done  0:0\d so far  about 0:0\d left$", lines[0])
    assert lines[1] == "search:  2 completed  1 infeasible  1 running  2 to come"
    assert lines[2:4] == [best, "running"]
    running = rf"  {trials[3].id[:6]}  2 of 3 epochs  0:0\d  1\d,\d+ samples/s  val_acc 85.00 %"
    assert re.match(running, lines[4])
    assert lines[-1].endswith("num_workers=8")
    tracker.close(0)


def test_each_end_leaves_a_line_above_the_view(terminal: Terminal, shown: Shown) -> None:
    tracker, scribe = shown
    scribe.sweep()
    scribe.whole(make_trial(1))
    tracker.tick()
    scribe.whole(make_trial(2), TrialState.FAILED)
    scribe.whole(make_trial(0, stage=Stage.CONFIRM))
    tracker.tick()
    tracker.close(0)
    ids = [make_trial(1).id[:6], make_trial(2).id[:6], make_trial(0, stage=Stage.CONFIRM).id[:6]]
    seen = [re.sub(r"1\d,\d{3}", "NN,NNN", line) for line in terminal.seen()]
    assert seen == [
        "   0:00  loader: graphsage on products-synthetic, 4 trials, 2 cores a trial,",
        "         seed 7",
        "   0:00  baseline: num_workers=0  lr=0.003  (a trial's line names what differs)",
        f"   0:00  1/4  {ids[0]}  num_workers=3  completed  NN,NNN samples/s  val_acc 86.67",
        "         %  1.5 s",
        f"   0:00  2/4  {ids[1]}  num_workers=6  failed: RuntimeError: no luck",
        "   0:00  phase: confirm stage",
        f"   0:00  3/4  {ids[2]} confirm  baseline  completed  NN,NNN samples/s  val_acc",
        "         86.67 %  1.5 s",
    ]


def test_configs_that_cannot_run_leave_one_line_a_reason(terminal: Terminal, shown: Shown) -> None:
    tracker, scribe = shown
    scribe.sweep()
    for number in range(8):
        scribe.whole(make_trial(number), TrialState.INFEASIBLE)
    assert "8 infeasible" in last_view(terminal, tracker.tick)[1]
    tracker.close(0)
    assert "\n".join(terminal.seen()).count("infeasible") == 1


def test_the_view_is_no_higher_than_the_terminal_and_goes_away(
    terminal: Terminal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LINES", "8")
    tracker = Lines(terminal.stream)
    scribe = Scribe(tmp_path / "run", tracker.apply).sweep(num_planned=None)
    for number in range(10, 40):
        scribe.started(scribe.asked(make_trial(number)))
    lines = last_view(terminal, tracker.tick)
    assert len(lines) <= 8
    assert "running 30, of which the first are" in lines
    assert "time left not known" in lines[0]
    tracker.close(130)
    terminal.read()
    assert terminal.has_cursor


def test_what_is_written_meanwhile_is_above_the_view(
    terminal: Terminal, shown: Shown, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stderr", terminal.stream)
    tracker, scribe = shown
    scribe.sweep(num_planned=4)
    sys.stderr.write("an error of a library\n")
    tracker.note("a note of \x1b[2J others")
    tracker.tick()
    seen = terminal.seen()
    assert seen[3] == "an error of a library"
    assert seen[4].endswith("! a note of \\x1b[2J others")
    assert [line for line in seen if "0 of 4 done" in line] == [seen[5]]
    tracker.close(0)
    assert terminal.seen() == seen[:5]


def test_a_tick_costs_the_trials_next_to_nothing(terminal: Terminal, shown: Shown) -> None:
    tracker, scribe = shown
    scribe.sweep(num_planned=400)
    for number in range(80):
        scribe.whole(make_trial(number))
    scribe.started(scribe.asked(make_trial(300)))
    terminal.read()
    tracker.tick()
    began = time.process_time()
    for _ in range(20):
        tracker.tick()
    per_tick_s = (time.process_time() - began) / 20
    tracker.close(0)
    assert per_tick_s < 0.025  # 5 % of a core at two ticks a second; seen: 3 ms


def test_what_a_trial_waits_for_is_shown_as_long_as_it_waits(
    terminal: Terminal, shown: Shown
) -> None:
    tracker, scribe = shown
    scribe.sweep()
    trials = [scribe.asked(make_trial(number)) for number in (0, 1)]
    for trial in trials:
        scribe.record("waiting", trial_id=trial.id, seconds=30.3, what="2 cores")
    waiting = f"{trials[0].id[:6]} and 1 more have waited 0:30 for 2 cores"
    assert waiting in last_view(terminal, tracker.tick)
    for trial in trials:
        scribe.started(trial)
    assert "waited" not in "".join(last_view(terminal, tracker.tick))
    tracker.close(0)


def test_the_best_is_looked_for_once_a_trial_has_ended_and_not_on_each_tick(
    terminal: Terminal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 1000.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    num_looks = 0

    def find(_: SweepHistory) -> str:
        nonlocal num_looks, now
        num_looks += 1
        now += 0.1  # it takes a while
        return ""

    tracker = Lines(terminal.stream, find_best=find)
    scribe = Scribe(tmp_path / "run", tracker.apply).sweep()
    assert num_looks == 0, "it would delay the first trial"
    for number in range(4):
        scribe.whole(make_trial(number))
        tracker.tick()
    assert num_looks == 2, "the first of all imports; then not within twenty times what it took"
    now += 3.0
    for _ in range(3):
        tracker.tick()
    assert num_looks == 3
    now += 60.0
    tracker.tick()
    assert num_looks == 3, "no trial has ended since"
    tracker.close(0)


def test_if_the_best_cannot_be_found_the_view_continues_with_one_note(
    terminal: Terminal, tmp_path: Path
) -> None:
    def find(_: SweepHistory) -> str:
        raise ValueError("no such column")

    tracker = Lines(terminal.stream, find_best=find)
    scribe = Scribe(tmp_path / "run", tracker.apply).sweep()
    scribe.whole(make_trial(0))
    tracker.tick()
    assert "1 of 4 done" in last_view(terminal, tracker.tick)[0]
    scribe.whole(make_trial(1))
    tracker.tick()
    tracker.close(0)
    terminal.read()
    assert terminal.written.count("ValueError: no such column") == 1


# -- without a view


@pytest.fixture
def log(tmp_path: Path) -> tuple[io.StringIO, Lines, Scribe]:
    stream = io.StringIO()
    tracker = Lines(stream)
    return stream, tracker, Scribe(tmp_path / "run", tracker.apply)


@pytest.mark.parametrize(
    ("state", "reason", "shown"),
    [
        (TrialState.FAILED, "bad \x1bluck\nits traceback", "failed: bad \\x1bluck"),
        (TrialState.NOT_RUN, "the time budget had ended", "not run: the time budget had ended"),
    ],
)
def test_a_reason_is_its_first_line_and_moves_no_cursor(
    log: tuple[io.StringIO, Lines, Scribe], state: TrialState, reason: str, shown: str
) -> None:
    stream, _, scribe = log
    scribe.sweep()
    scribe.finished(scribe.asked(make_trial(0)), state, reason=reason)
    assert stream.getvalue().splitlines()[-1].endswith(f"  {shown}")


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("samples_per_s", 41_234, "41,234 samples/s"), ("samples_per_s", 41.234, "41.23 samples/s"),
        ("val_acc", 0.86667, "val_acc 86.67 %"), ("step_ms", 12.34567, "step_ms 12.35 ms"),
        ("my_own", 0.123456, "my_own 0.1235"),
    ],
)  # fmt: skip
def test_a_figure_has_its_name_or_its_unit(name: str, value: float, text: str) -> None:
    assert named_figure(name, value) == text


def test_a_config_is_named_by_what_differs_from_the_baseline() -> None:
    varied = dict.fromkeys(["pin", "fanouts", "lr"], "")
    baseline = {"lr": 0.003, "fanouts": [10, 25], "pin": False, "amp": "off"}
    sweep = make_record(space=varied, baseline=baseline)
    same = {"lr": 0.003, "fanouts": (10, 25), "pin": False, "amp": "bf16"}
    assert differing(same, sweep) == ["baseline"]
    other = same | {"lr": 0.0200001, "pin": True, "fanouts": (5, 5)}
    assert differing(other, sweep) == ["pin=on", "fanouts=5,5", "lr=0.02"]


def test_a_log_has_a_line_for_each_start_and_end(log: tuple[io.StringIO, Lines, Scribe]) -> None:
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
        f"1/4    {zeroth.id[:6]}  baseline  completed  {speed}  val_acc 86.67 %  1.5 s",
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
    waiting = scribe.asked(make_trial(0))
    for seconds, what in ((10.1, "2 GPUs"), (20.2, "2 GPUs"), (200.3, "1 GPU"), (210.4, "2 GPUs")):
        scribe.record("waiting", trial_id=waiting.id, seconds=seconds, what=what)
    assert stream.getvalue().count("! the disk is nearly full") == 1
    assert stream.getvalue().count("! MLflow is away") == 1
    assert stream.getvalue().count(f"! {waiting.id[:6]} has waited 0:10 for 2 GPUs") == 1
    assert stream.getvalue().count("2 GPUs") == 1
    assert stream.getvalue().count(f"! {waiting.id[:6]} has waited 3:20 for 1 GPU") == 1


def test_trials_of_an_earlier_process_are_counted_and_not_shown_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    past: list[Event] = []
    before = Scribe(tmp_path / "run", past.append)
    before.sweep()
    before.whole(make_trial(0))
    monkeypatch.setattr(time, "time", lambda: 1_700_000_000.0)  # a clock that was set back
    stream = io.StringIO()
    tracker = Lines(stream, past=past)
    assert stream.getvalue() == ""
    now = Scribe(tmp_path / "run", tracker.apply)
    now.resumed()
    now.whole(make_trial(1))
    assert "resumed: 1 trial done before" in stream.getvalue()
    assert make_trial(0).id[:6] not in stream.getvalue()
    assert "2/4" in stream.getvalue()


def test_after_an_interrupt_and_after_the_last_trial_a_log_shows_the_work(
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
    tracker = Lines(terminal.stream)
    Scribe(tmp_path / "run", tracker.apply).sweep()
    tracker.tick()
    assert "\x1b" not in terminal.read()
