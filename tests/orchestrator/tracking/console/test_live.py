"""The live view: what it shows, that it stays small, and what a tick costs."""

from __future__ import annotations

import re
import time
from pathlib import Path

import pytest

from orchestrator.storage.history import SweepHistory
from orchestrator.tracking.console.best import Best, BestSoFar
from orchestrator.tracking.console.tracker import ConsoleTracker
from orchestrator.tracking.console.wording import rate
from orchestrator.trial import TrialState
from tests.orchestrator.tracking.console.terminals import COLUMNS, Terminal, last_view, plain
from tests.orchestrator.tracking.journals import Scribe, config, make_trial


def test_a_terminal_shows_the_progress_of_the_sweep(terminal: Terminal, tmp_path: Path) -> None:
    leader = Best(title="recommended", config=config(1), figures={"samples_per_s": 1.5e4,
                                                                  "val_acc": 0.8667})  # fmt: skip
    found = BestSoFar(leaders=[leader], baseline=1e4)
    tracker = ConsoleTracker(terminal.stream, find_best=lambda _: found)
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
    assert lines[3].split() == ["recommended", "15.0", "k", "1.50x", "0.8667", "3", "0.003"]
    assert re.match(r"━{6} 2/3 0:0\d ", lines[-1])
    assert lines[-1].split()[-4:] == ["0.8500", "8", "0.003", trials[3].id[:6]]
    speed = 1e4 * (1 + int(trials[3].id[:6], 16) / 2**24)
    assert rate(speed).split()[0] in lines[-1]
    tracker.close(0)
    everything = plain(terminal.written + terminal.read())
    assert "✗ infeasible: RuntimeError: no luck" in everything


def test_the_time_left_is_known_before_the_first_trial_ends(
    terminal: Terminal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tracker = ConsoleTracker(terminal.stream)
    scribe = Scribe(tmp_path / "run", tracker.on_event)
    scribe.sweep(num_planned=4)
    assert "left" not in last_view(terminal, tracker.tick)[0]
    trial = scribe.asked(make_trial(0))
    scribe.started(trial)
    scribe.reported(trial, 1)  # a third of a trial took 1 s: 2 s more, then 3 trials of 3 s
    began = time.time()
    monkeypatch.setattr(time, "time", lambda: began + 1.0)
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


def test_the_best_is_looked_for_once_a_trial_has_ended_and_not_on_each_tick(
    terminal: Terminal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 1000.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    num_looks = 0

    def find(_: SweepHistory) -> BestSoFar:
        nonlocal num_looks, now
        num_looks += 1
        now += 0.1  # it takes a while
        return BestSoFar()

    tracker = ConsoleTracker(terminal.stream, find_best=find)
    scribe = Scribe(tmp_path / "run", tracker.on_event)
    scribe.sweep()
    first = num_looks
    for number in range(3):
        scribe.whole(make_trial(number))
        tracker.tick()
    assert num_looks == first, "not again within twenty times what it took"
    now += 3.0
    for _ in range(3):
        tracker.tick()
    assert num_looks == first + 1
    now += 60.0
    tracker.tick()
    assert num_looks == first + 1, "no trial has ended since"
    tracker.close(0)


def test_where_the_best_cannot_be_found_the_view_goes_on_and_says_so_once(
    terminal: Terminal, tmp_path: Path
) -> None:
    def find(_: SweepHistory) -> BestSoFar:
        raise ValueError("no such column")

    tracker = ConsoleTracker(terminal.stream, find_best=find)
    scribe = Scribe(tmp_path / "run", tracker.on_event)
    scribe.sweep()
    scribe.whole(make_trial(0))
    assert "1 of 4 done" in last_view(terminal, tracker.tick)[0]
    scribe.whole(make_trial(1))
    tracker.tick()
    tracker.close(0)
    terminal.read()
    assert terminal.written.count("ValueError: no such column") == 1
