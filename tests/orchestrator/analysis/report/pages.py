"""Views and pages of made runs."""

import html
import re
from dataclasses import replace
from typing import Any, cast

from orchestrator.analysis.report.tables import Cell, Table
from orchestrator.analysis.report.view import View
from orchestrator.analysis.report.write import page_of as written_page
from orchestrator.analysis.report.write import sections_of
from tests.orchestrator.analysis.made_runs import MadeRun


def with_sweep(view: View, **fields: object) -> View:
    """The view of the same run of a sweep that differs in nothing that selects."""
    return with_tables(view, sweep=replace(view.sweep, **cast("Any", fields)))


def with_tables(view: View, **fields: object) -> View:
    """The view of a run with some other tables."""
    return replace(view, tables=replace(view.tables, **cast("Any", fields)))


def view_of_run(run: MadeRun) -> View:
    return View(tables=run.tables)


def html_of(view: View) -> str:
    return written_page(view, sections_of(view))[0]


def page_of(run: MadeRun) -> str:
    return html_of(view_of_run(run))


def column_of(table: Table | None, title: str) -> list[Cell]:
    """The cells below a title."""
    return [row[table.head.index(title)] for row in table.rows]


def text_of(page: str) -> str:
    """The page without its scripts, styles and tags."""
    bare = re.sub(r"<(script|style).*?</\1>", " ", page, flags=re.DOTALL)
    return html.unescape(re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", bare)))
