"""Campaigns of faults: their table, what they find left behind, and one kill of each way."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from benchmarks.reliability.kills import __main__ as kills
from benchmarks.reliability.kills import rounds
from benchmarks.reliability.leaks import MARK, Witness
from benchmarks.reliability.table import Counts, table


def test_a_table_has_a_line_a_kind() -> None:
    clean = Counts(rounds=2) + Counts(rounds=3)
    assert clean.is_clean
    assert not (clean + Counts(leaks=1)).is_clean
    assert table([("driver", clean)], first="killed") == (
        "| killed | rounds | lost | repeated | hung | tracebacks | leaks | wrong |\n"
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n"
        "| driver | 5 | 0 | 0 | 0 | 0 | 0 | 0 |"
    )
    assert table([("run", clean)], without=("lost", "repeated", "hung", "leaks")) == (
        "| fault | rounds | tracebacks | wrong |\n| --- | ---: | ---: | ---: |\n| run | 5 | 0 | 0 |"
    )


def test_processes_and_files_that_are_left_are_found(tmp_path: Path) -> None:
    witness = Witness("this one", tmp_path)
    daemon = subprocess.Popen(
        ["sleep", "600"], env={**os.environ, MARK: "this one"}, start_new_session=True
    )
    file, shared = tmp_path / "left", Path("/dev/shm") / f"left-{os.getpid()}"
    file.touch()
    shared.touch()
    try:
        left = witness.left(grace_s=0)
        assert f"process {daemon.pid}: sleep 600" in left
        assert {f"file {file}", f"file {shared}"} < set(left)
        assert daemon.wait(10) == -9, "it is ended"
    finally:
        shared.unlink()
        daemon.kill()
    file.unlink()
    assert Witness("this one", tmp_path).left(grace_s=0) == []


def test_rounds_of_an_earlier_command_count(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    state = tmp_path / "state"
    lines = [
        {"kind": kind, "counts": {"rounds": rounds, "leaks": leaks}, "remarks": []}
        for kind, rounds, leaks in (("driver", 1, 0), ("raylet", 2, 1), ("driver", 3, 0))
    ]
    state.write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert kills.main(["driver", "--kills", "4", "--state", str(state)]) == 1
    printed = capsys.readouterr().out
    assert "| driver | 4 | 0 |" in printed
    assert "| raylet | 2 | 0 | 0 | 0 | 0 | 1 | 0 |" in printed


@pytest.mark.slow
def test_a_kill_of_the_driver(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It ends its command, which is resumed. Processes of other kinds: whole_runs/test_dying.py."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RELIABILITY_TRIALS", "3")
    monkeypatch.setattr(rounds, "NUM_TRIALS", 3)
    monkeypatch.setattr(rounds, "TYPICAL_S", 8.0)
    monkeypatch.setattr(rounds, "GAP_S", (0.5, 1.0))
    assert kills.main(["driver", "--kills", "1"]) == 0, (tmp_path / "kills.jsonl").read_text()
