"""One whole run, its view and its page, for all tests that only read them."""

from __future__ import annotations

import pytest

from analysis.report.page import report_html
from analysis.report.view import View
from tests.analysis.made_runs import products_run
from tests.analysis.report.pages import view_of_run


@pytest.fixture(scope="session")
def view() -> View:
    return view_of_run(products_run())


@pytest.fixture(scope="session")
def page(view: View) -> str:
    return report_html(view)
