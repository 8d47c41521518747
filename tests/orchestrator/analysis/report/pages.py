"""Views and pages of made runs."""

from __future__ import annotations

import html
import re
from dataclasses import replace
from typing import Any, cast

from orchestrator.analysis.findings.findings import findings
from orchestrator.analysis.report.page import report_of
from orchestrator.analysis.report.view import View, view_of
from tests.orchestrator.analysis.made_runs import MadeRun


def with_sweep(view: View, **fields: object) -> View:
    """The view of the same run of a sweep that differs in nothing that selects."""
    return replace(view, sweep=replace(view.sweep, **cast("Any", fields)))


def view_of_run(run: MadeRun) -> View:
    tables = run.tables
    return view_of(tables, findings(tables))


def page_of(run: MadeRun) -> str:
    return report_of(view_of_run(run)).html


def text_of(page: str) -> str:
    """The page without its scripts, styles and tags."""
    bare = re.sub(r"<(script|style).*?</\1>", " ", page, flags=re.DOTALL)
    return html.unescape(re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", bare)))
