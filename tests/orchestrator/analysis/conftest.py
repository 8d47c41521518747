"""Runs as a sweep writes them; tests only read the runs of the session."""

from pathlib import Path

import pytest

from orchestrator.analysis.tables.run_tables import RunTables
from tests.orchestrator.analysis.made_runs import MadeRun, factored_run, products_run


@pytest.fixture
def made() -> MadeRun:
    return products_run()


@pytest.fixture
def run_dir(made: MadeRun, tmp_path: Path) -> Path:
    return made.write(tmp_path / "run")


@pytest.fixture(scope="session")
def run() -> RunTables:
    return products_run().tables


@pytest.fixture(scope="session")
def factored() -> RunTables:
    return factored_run().tables


@pytest.fixture(scope="session")
def empty() -> RunTables:
    """A run of which no trial completed."""
    return MadeRun().tables
