"""One whole run, its view and its page, for all tests that only read them."""

from __future__ import annotations

import pytest

from orchestrator.analysis.findings.findings import findings
from orchestrator.analysis.report.page import report_of
from orchestrator.analysis.report.view import View, view_of
from orchestrator.analysis.tables.run_tables import RunTables
from tests.orchestrator.analysis.made_runs import products_run


@pytest.fixture(scope="session")
def tables() -> RunTables:
    return products_run().tables


@pytest.fixture(scope="session")
def view(tables: RunTables) -> View:
    return view_of(tables, findings(tables))


@pytest.fixture(scope="session")
def page(view: View) -> str:
    return report_of(view).html
