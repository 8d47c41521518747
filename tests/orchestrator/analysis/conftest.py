"""A run as a sweep leaves it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.orchestrator.analysis.made_runs import MadeRun, products_run


@pytest.fixture
def made() -> MadeRun:
    return products_run()


@pytest.fixture
def run_dir(made: MadeRun, tmp_path: Path) -> Path:
    return made.write(tmp_path / "run")
