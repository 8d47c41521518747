"""A run and how the report shows it, which its recommendation is held against."""

from __future__ import annotations

import pytest

from orchestrator.analysis.findings.findings import findings
from orchestrator.analysis.report.view import View, view_of
from tests.orchestrator.analysis.made_runs import MadeRun


@pytest.fixture
def view(made: MadeRun) -> View:
    return view_of(made.tables, findings(made.tables))
