"""A terminal's screen as a page."""

import sys
from pathlib import Path

import pytest

pytest.importorskip("playwright")

from benchmarks.pictures import run_in_terminal


def test_the_last_screen_is_what_the_terminal_shows(tmp_path: Path) -> None:
    code = r"print('stale'); print('\x1b[2J\x1b[H\x1b[1;32mfast\x1b[0m <b>')"
    _, last = run_in_terminal([sys.executable, "-c", code], tmp_path)
    assert "stale" not in last
    assert last.count("&lt;b&gt;") == 1
    assert 'style="color:#7ee787;font-weight:bold">fast</span>' in last


def test_a_command_that_fails_makes_no_picture(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="ended with 3"):
        run_in_terminal([sys.executable, "-c", "raise SystemExit(3)"], tmp_path)
