"""What takes time before the first trial is said on a terminal, and nowhere else."""

from __future__ import annotations

import io
import sys
from contextlib import closing

import pytest

from orchestrator.driver.options import Options
from orchestrator.driver.starting import said, starting_executor, write_note
from tests.orchestrator.tracking.console.terminals import Terminal


def test_it_is_gone_when_it_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    with closing(Terminal(20)) as terminal:
        monkeypatch.setattr(sys, "stderr", terminal.stream)
        with said("starting Ray on this machine ..."):
            assert terminal.seen() == ["starting Ray on thi"]
        assert terminal.seen() == []
        with said("downloading ...\n"):
            sys.stderr.write("50 %")
        assert terminal.seen() == ["downloading ..."]


def test_a_terminal_that_cannot_erase_keeps_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "dumb")
    with closing(Terminal()) as terminal:
        monkeypatch.setattr(sys, "stderr", terminal.stream)
        with said("starting Ray ..."):
            pass
        assert terminal.seen() == ["starting Ray ..."]
        assert "\x1b[" not in terminal.written


def test_a_log_is_not_told(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    with said("starting Ray ..."):
        pass
    assert stream.getvalue() == ""


def test_what_takes_no_time_is_not_said() -> None:
    assert starting_executor(Options(executor="inline")) == ""
    assert starting_executor(Options()).startswith("starting Ray on this machine")
    assert "cluster at head:6379" in starting_executor(Options(address="head:6379"))


def test_a_note_is_broken_between_words_on_a_terminal_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    text = "mnist is absent; running on digits instead, which is not the same.\nTo get it: ask"
    with closing(Terminal(60)) as terminal:
        monkeypatch.setattr(sys, "stderr", terminal.stream)
        write_note(text)
        assert terminal.seen() == [
            "NOTE: mnist is absent; running on digits instead, which is",
            "      not the same.",
            "      To get it: ask",
        ]
    monkeypatch.setattr(sys, "stderr", stream := io.StringIO())
    write_note(text)
    assert stream.getvalue().splitlines() == [
        "NOTE: mnist is absent; running on digits instead, which is not the same.",
        "      To get it: ask",
    ]
