"""A run directory that is removed or moved while a run writes to it: nothing is lost."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import RunCli
from tests.orchestrator.driver.speed_sweeps import finished_counts, trials_of, write_sweep

COMMON = ("--no-mlflow", "--executor", "inline")


@pytest.mark.parametrize(
    ("goes", "now", "said"),
    [
        pytest.param(
            "removed",
            "run",
            "run was removed while the run wrote to it; its journal is put back",
            marks=pytest.mark.slow,
        ),
        ("moved", "moved", "run was moved to"),
    ],
)
def test_a_run_whose_directory_goes_can_be_resumed(
    run_cli: RunCli, tmp_path: Path, goes: str, now: str, said: str
) -> None:
    sweep = write_sweep(tmp_path, "step_ms=choice(4.0, 1.0, 2.0)", shared=True)
    done = run_cli(
        sweep, "--out", tmp_path / "run", *COMMON,
        module="tests.orchestrator.whose_directory_goes", env={"GOES": goes},
    )  # fmt: skip

    assert done.returncode == 1, done.stderr
    assert f"error: {tmp_path}/{said}" in done.stderr
    assert f"--resume {tmp_path / now}" in done.stderr.splitlines()[-1]
    assert "Traceback" not in done.stderr
    assert len(finished_counts(tmp_path / now)) >= 1
    again = run_cli("--resume", tmp_path / now, *COMMON)
    assert again.returncode == 0, again.stderr
    assert set(finished_counts(tmp_path / now).values()) == {1}
    assert list(trials_of(tmp_path / now)["state"]) == ["completed"] * 3
