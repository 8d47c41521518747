"""The console's view is chosen by what it writes to."""

from __future__ import annotations

from pathlib import Path

import pytest

from orchestrator.tracking.console.tracker import ConsoleTracker
from tests.orchestrator.tracking.console.terminals import Terminal
from tests.orchestrator.tracking.journals import Scribe


def test_a_terminal_that_cannot_move_its_cursor_gets_lines(
    terminal: Terminal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TERM", "dumb")
    tracker = ConsoleTracker(terminal.stream)
    Scribe(tmp_path / "run", tracker.apply).sweep()
    tracker.tick()
    assert "\x1b" not in terminal.read()
