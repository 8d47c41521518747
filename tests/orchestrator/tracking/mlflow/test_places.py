"""Where runs are in MLflow, and the commands that open them."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

import pytest

from orchestrator.tracking.mlflow.places import how_to_open


def test_the_command_for_mlflow_can_be_typed_as_it_is_printed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    uri = f"sqlite:///{tmp_path}/my runs/m.db"
    monkeypatch.setattr(sys, "executable", str(tmp_path / "my python" / "python"))
    words = shlex.split(how_to_open(uri, "1", "2"))
    program = ["my python/python", "-m", "mlflow"]
    assert words == [*program, "ui", "--backend-store-uri", "sqlite:///my runs/m.db"]
