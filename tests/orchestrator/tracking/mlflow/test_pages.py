"""MLflow's own pages in a browser: the answer, the views' charts, the report in its sandbox."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from orchestrator.analysis.findings.findings import findings
from orchestrator.analysis.tables.load import load_run
from orchestrator.tracking.mlflow.mirror import Mirror
from orchestrator.tracking.mlflow.uris import how_to_open
from tests.orchestrator.analysis.made_runs import products_run
from tests.orchestrator.tracking.in_mlflow import sqlite
from tests.orchestrator.tracking.made_journal import write_run
from tests.orchestrator.tracking.serving import free_port, serving

pytest.importorskip("playwright")

from playwright.sync_api import ConsoleMessage, Page, expect, sync_playwright

CHROMIUM = Path("/usr/bin/chromium")
WAIT_MS = 90_000
"""The first page of a server on a busy machine takes long."""
OF_MLFLOW = ("mlflow/users/current", "/static-files/")
"""Errors of MLflow's own page: a request that a server without accounts refuses, and axes
drawn before their card has a width. An exception is an error wherever it comes from."""

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(600),
    pytest.mark.skipif(not CHROMIUM.exists(), reason="there is no Chromium"),
]


@dataclass
class Site:
    """A server with the parent run, and one page of one browser."""

    page: Page  # the page
    parent: str  # address of the parent run, as the user sees it
    sentence: str  # the run's answer
    errors: list[str] = field(default_factory=list)  # errors that the page has reported

    def open(self, address: str) -> Page:
        self.errors.clear()
        self.page.goto("about:blank")  # another address of one page is no new page
        self.page.goto(address, timeout=WAIT_MS)
        return self.page

    def view(self, name: str) -> Page:
        """Open a view by its link in the parent's note."""
        page = self.open(self.parent)
        page.get_by_text("Show more").click(timeout=WAIT_MS)
        link = page.get_by_role("link", name=name, exact=True).get_attribute("href")
        server = self.parent.partition("/#")[0]
        return self.open(link if link.startswith("http") else f"{server}/{link}")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    folder = tmp_path_factory.mktemp("pages")
    run_dir = write_run(products_run(), folder / "runs" / "products_loader" / "now")
    tables = load_run(run_dir)
    sentence = findings(tables).sentence
    uri = sqlite(folder)
    mirror = Mirror(run_dir, uri)
    mirror.finish(0)
    store = ["--backend-store-uri", uri]
    with serving(folder, free_port(), *store) as address, sync_playwright() as playwright:
        (parent,) = how_to_open(address, *mirror.ids)
        options = ["--no-sandbox"]  # in a container; the page's own sandbox is another
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=options)
        page = browser.new_page(viewport={"width": 1900, "height": 1300})
        site = Site(page, parent, sentence)
        page.on("console", lambda message: _note_error(message, site.errors))
        page.on("pageerror", lambda error: site.errors.append(str(error)))
        yield site
        browser.close()


def _note_error(message: ConsoleMessage, errors: list[str]) -> None:
    source = message.location["url"]
    if message.type == "error" and not any(part in source for part in OF_MLFLOW):
        errors.append(f"{message.text} at {source}")


def visible(locator: Any) -> None:  # noqa: ANN401 - a locator of a page or a frame
    expect(locator).to_be_visible(timeout=WAIT_MS)


def test_the_parents_page_begins_with_the_answer(site: Site) -> None:
    page = site.open(site.parent)
    visible(page.get_by_text(site.sentence))
    visible(page.get_by_text("speedup_low", exact=True))
    visible(page.get_by_text("recommended.batch_size", exact=True).first)
    page.get_by_text("Show more").click()
    visible(page.get_by_role("cell", name="recommended", exact=True))
    visible(page.get_by_text("Which loader settings train GraphSAGE fastest"))
    assert site.errors == []


def test_the_charts_of_the_view_draw(site: Site) -> None:
    page = site.view("Charts")
    visible(page.get_by_text("Speed and accuracy"))
    visible(page.get_by_text("val_acc vs. answer.samples_per_s"))
    points = page.locator(".scatterlayer path.point")
    expect(points).to_have_count(30, timeout=WAIT_MS)  # one a completed trial
    visible(page.get_by_text("Parallel Coordinates"))
    axes = page.locator("svg .label")
    for name in ("batch_size", "num_workers", "answer..._per_s"):
        visible(axes.filter(has_text=name).first)
    assert page.get_by_text("ranks", exact=True).count() == 0, "it varies where nothing ran"
    assert site.errors == []


def test_the_answers_view_begins_with_the_fastest(site: Site) -> None:
    page = site.view("Answer")
    visible(page.get_by_text("30 matching runs"))
    visible(page.locator("[role=columnheader][col-id*='sweep.role']"))
    speeds = page.locator("[role=gridcell][col-id*='samples_per_s']")
    expect(speeds.first).to_be_visible(timeout=WAIT_MS)
    shown = [float(text) for text in speeds.all_inner_texts()]
    assert shown == sorted(shown, reverse=True)


def test_what_did_not_complete_is_shown_with_its_reason(site: Site) -> None:
    page = site.view("What did not complete")
    visible(page.get_by_text("5 matching runs"))
    visible(page.get_by_text("needs 2 GPUs, the largest node has 0"))
    visible(page.get_by_text("num_workers=3 allocator=jemalloc"))


def test_the_report_works_in_its_sandbox(site: Site) -> None:
    run, _, mode = site.parent.partition("?")
    page = site.open(f"{run}/artifacts/report.html?{mode}")
    frame = page.locator("iframe")
    visible(frame)
    assert (frame.get_attribute("sandbox") or "").split() == ["allow-scripts"]
    inside = page.frame_locator("iframe")
    visible(inside.get_by_text("To train with these settings"))
    expect(inside.locator(".js-plotly-plot .main-svg").first).to_be_attached(timeout=WAIT_MS)
    inside.get_by_role("button", name="Copy").first.click()
    page.wait_for_timeout(500)
    assert site.errors == []
