"""Two whole runs, for all tests that only read them."""

from __future__ import annotations

import pytest

from orchestrator.analysis.tables.run_tables import RunTables
from tests.orchestrator.analysis.made_runs import MadeRun, factored_run, products_run


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
