"""The screen that the console's tests look at behaves as a terminal does."""

from __future__ import annotations

from pathlib import Path

import pyte
import pytest

from orchestrator.tracking.console.tracker import ConsoleTracker
from tests.orchestrator.tracking.console.screen import Screen
from tests.orchestrator.tracking.console.terminals import COLUMNS, ROWS, Terminal
from tests.orchestrator.tracking.journals import Scribe, make_trial


def screen(columns: int, written: str) -> Screen:
    made = Screen(columns=columns, height=3)
    made.feed(written)
    return made


def test_text_is_written_over_and_erased() -> None:
    assert screen(9, "one\r\ntwo\r\x1b[1Aon\x1b[1m!\x1b[0m").lines == ["on!", "two"]
    assert screen(9, "one\r\ntwo\r\x1b[2K").lines == ["one"]
    assert not screen(9, "\x1b[?25l").has_cursor


def test_a_long_line_is_broken_and_broken_anew() -> None:
    made = screen(5, "123456789\r\nab")
    assert made.lines == ["12345", "6789", "ab"]
    made.resize(3)
    assert made.lines == ["123", "456", "789", "ab"]
    made.resize(20)
    assert made.lines == ["123456789", "ab"]
    made.feed("c")
    assert made.lines == ["123456789", "abc"]


def test_the_cursor_does_not_reach_what_has_scrolled_away() -> None:
    assert screen(9, "1\r\n2\r\n3\r\n4\r\x1b[9A!").lines == ["1", "!", "3", "4"]


def test_what_it_does_not_know_is_an_error() -> None:
    with pytest.raises(AssertionError, match="unknown"):
        screen(9, "\x1b[5;5H")


def test_it_shows_what_another_terminal_shows(terminal: Terminal, tmp_path: Path) -> None:
    """pyte breaks no lines anew, so that it is asked at one width."""
    tracker = ConsoleTracker(terminal.stream)
    scribe = Scribe(tmp_path / "run", tracker.apply)
    scribe.sweep()
    for number in range(12):
        scribe.whole(make_trial(number))
        scribe.started(scribe.asked(make_trial(20 + number)))
        tracker.tick()
    seen = terminal.seen()
    other = pyte.Screen(COLUMNS, ROWS)
    pyte.Stream(other).feed(terminal.written)
    assert [line.rstrip() for line in other.display if line.strip()] == seen[-ROWS:]
    tracker.close(0)
