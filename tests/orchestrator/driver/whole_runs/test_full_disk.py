"""A disk that is full ends a run with exit code 1, and loses nothing of the journal."""

from __future__ import annotations

from pathlib import Path

from tests.conftest import RunCli
from tests.orchestrator.driver.speed_sweeps import finished_counts, trials_of, write_sweep


def test_a_full_disk_ends_a_sweep_that_can_be_resumed(run_cli: RunCli, tmp_path: Path) -> None:
    out, common = tmp_path / "run", ("--no-mlflow", "--executor", "inline")

    done = run_cli(
        write_sweep(tmp_path, "step_ms=choice(4.0, 1.0, 2.0)", shared=True),
        "--out",
        out,
        *common,
        module="tests.orchestrator.helpers.on_a_full_disk",
    )

    assert done.returncode == 1, done.stderr
    said = "error: [Errno 27] File too large\nto resume: "
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    before = finished_counts(out)
    assert 1 <= len(before) < 3
    again = run_cli("--resume", out, *common)
    assert again.returncode == 0, again.stderr
    assert set(finished_counts(out).values()) == {1}
    assert list(trials_of(out)["state"]) == ["completed"] * 3
