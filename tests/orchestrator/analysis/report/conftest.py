"""One whole run, its view and its page, for all tests that only read them."""

import pytest

from orchestrator.analysis.report.view import View
from orchestrator.analysis.tables.run_tables import RunTables
from tests.orchestrator.analysis.made_runs import products_run
from tests.orchestrator.analysis.report.pages import html_of


@pytest.fixture(scope="session")
def tables() -> RunTables:
    return products_run().tables


@pytest.fixture(scope="session")
def view(tables: RunTables) -> View:
    return View(tables=tables)


@pytest.fixture(scope="session")
def page(view: View) -> str:
    return html_of(view)
