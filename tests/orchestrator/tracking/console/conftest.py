"""A terminal for the console's tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.orchestrator.tracking.console.terminals import COLUMNS, ROWS, Terminal


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Iterator[Terminal]:
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.delenv("JPY_PARENT_PID", raising=False)
    # Of a terminal that is none of the standard streams rich does not ask the size.
    monkeypatch.setenv("COLUMNS", str(COLUMNS))
    monkeypatch.setenv("LINES", str(ROWS))
    terminal = Terminal()
    yield terminal
    terminal.close()
