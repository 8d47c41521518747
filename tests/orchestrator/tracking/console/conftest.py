"""A terminal for the console's tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.orchestrator.tracking.console.terminals import Terminal


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Iterator[Terminal]:
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.delenv("COLUMNS", raising=False)
    terminal = Terminal()
    yield terminal
    terminal.close()
