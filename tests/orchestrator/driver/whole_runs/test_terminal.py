"""A sweep as a user sees it on a terminal, until Ctrl-C is pressed."""

import os
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.orchestrator.driver.speed_sweeps import finished_counts, write_sweep
from tests.orchestrator.tracking.console.terminals import Terminal

LIMIT_S = 100


@dataclass(frozen=True, kw_only=True)
class Watched:
    """The screen at some moments of one run."""

    wide: list[str]  # once a trial had ended
    at_the_end: list[str]  # after Ctrl-C, once the command had ended
    code: int  # its exit code
    has_cursor: bool  # true where the terminal has its cursor then
    out: Path  # the run directory


@pytest.fixture(scope="module")
def watched(tmp_path_factory: pytest.TempPathFactory) -> Watched:
    folder = tmp_path_factory.mktemp("watched")
    # More trials than are waited for: it is to be interrupted, on a fast machine too.
    values = ", ".join(f"{4 - number / 10}" for number in range(20))
    file = write_sweep(folder, f"step_ms=choice({values})", epochs=4, shared=True)
    out = folder / "run"
    words = [file.name, "--out", "run", "--executor", "inline", "--no-mlflow"]
    command = [sys.executable, "-m", "orchestrator", *words]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "TERM": "xterm-256color"}
    for name in ("COLUMNS", "LINES", "JPY_PARENT_PID"):
        environment.pop(name, None)
    with closing(Terminal(80)) as terminal:
        driver = terminal.start(command, cwd=folder, env=environment)
        try:
            wide = seen_once(terminal, driver, lambda: any(finished_counts(out).values()))
            terminal.type("\x03")
            code = driver.wait(timeout=LIMIT_S)
        finally:
            driver.kill()
        time.sleep(0.1)
        at_the_end = list(terminal.watched())
        return Watched(
            wide=wide, at_the_end=at_the_end, code=code, has_cursor=terminal.has_cursor, out=out
        )


def seen_once(
    terminal: Terminal, driver: subprocess.Popen[bytes], condition: Callable[[], bool]
) -> list[str]:
    """Return the lines of the second drawing after a condition has become true."""
    deadline = time.monotonic() + LIMIT_S
    while not condition():
        terminal.watched()
        assert driver.poll() is None, "\n".join(terminal.watched())
        assert time.monotonic() < deadline, "\n".join(terminal.watched())
        time.sleep(0.02)
    for _ in range(2):
        before = len(terminal.written)
        while len(terminal.written) == before:
            terminal.watched()
            time.sleep(0.02)
    return list(terminal.watched())


def test_the_view_is_below_a_line_for_each_end(watched: Watched) -> None:
    text = " ".join(" ".join(watched.wide).split())
    assert max(map(len, watched.wide)) <= 80
    assert "speed: workload, 20 trials, 1 core a trial" in watched.wide[0]
    assert "1/20" in text
    assert text.index("1/20") < text.index("of 20 done")
    assert text.count("of 20 done") == 1
    for words in ("baseline: step_ms=4", "so far", " to come", "running"):
        assert words in text


def test_ctrl_c_prints_what_happens_and_how_to_resume(watched: Watched) -> None:
    assert watched.code == 130
    text = "".join("".join(watched.at_the_end).split())  # the terminal breaks the last lines
    assert "interrupted:nofurthertrialstarts" in text
    assert "writingthetablesandthereport" in text
    assert text.endswith("--resumerun")
    # Above it a line of the view may stay from when the terminal became narrower.
    assert "of20done" not in text[text.index("interrupted:") :], "the view has gone"
    assert watched.has_cursor
    assert (watched.out / "report.html").exists()
