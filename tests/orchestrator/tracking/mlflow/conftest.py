"""A run directory for MLflow's tests."""

from pathlib import Path

import pytest

from tests.orchestrator.tracking.in_mlflow import sqlite


@pytest.fixture
def run_dir(tmp_path: Path) -> Path:
    return tmp_path / "runs" / "loader" / "first run"


@pytest.fixture
def uri(tmp_path: Path) -> str:
    """The address of an MLflow that is empty."""
    return sqlite(tmp_path)
