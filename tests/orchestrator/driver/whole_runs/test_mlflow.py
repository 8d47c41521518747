"""A sweep whose MLflow is away goes on, and MLflow has all of it in the end."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import RunCli
from tests.orchestrator.driver.speed_sweeps import trials_of, write_sweep


@pytest.mark.slow
def test_a_sweep_whose_mlflow_is_down_goes_on_and_keeps_its_password_to_itself(
    run_cli: RunCli, tmp_path: Path
) -> None:
    """A server that fails midway and comes back: ``tracking/mlflow/test_server.py``."""
    out, file = (
        tmp_path / "run",
        write_sweep(tmp_path, "step_ms=choice(1.0, 2.0)", baseline=1.0, shared=True),
    )
    uri = "http://me:secret@127.0.0.1:9"

    done = run_cli(file, "--out", out, "--executor", "inline", f"--tracking-uri={uri}")

    assert done.returncode == 0, done.stderr
    assert list(trials_of(out)["state"]) == ["completed"] * 2
    assert done.stdout.count("The sweep continues") + done.stderr.count("The sweep continues") == 1
    assert f"--resume {out} completes it" in done.stdout
    written = {path.name: path.read_bytes() for path in out.iterdir() if path.is_file()}
    assert [name for name, content in written.items() if b"secret" in content] == []
    assert "secret" not in done.stdout + done.stderr

    again = run_cli("--resume", out)
    assert again.returncode == 2
    assert "its password is not kept with the run" in again.stderr
    up = run_cli("--resume", out, "--tracking-uri", f"sqlite:///{tmp_path}/mlflow.db")
    assert up.returncode == 0, up.stderr
    assert "ui --backend-store-uri" in up.stdout
