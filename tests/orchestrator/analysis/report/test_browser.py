"""The page in a browser: drawn, read, copied from; on a phone, in the dark, inside MLflow."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest

from orchestrator.analysis.report import drawing as style
from orchestrator.analysis.report.view import View
from orchestrator.metrics import minimize
from tests.conftest import ROOT
from tests.orchestrator.analysis.made_runs import MadeRun, config, factored_run, products_run
from tests.orchestrator.analysis.report.edge_runs import RUNS
from tests.orchestrator.analysis.report.pages import html_of, page_of

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.slow

sync_api = pytest.importorskip("playwright.sync_api")

AXE = ROOT / "tests/fixtures/axe-core/axe.min.js"
LEVELS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]
Open = Callable[..., "Page"]


@pytest.fixture(scope="module")
def browser(chromium: str) -> Iterator[Browser]:
    with sync_api.sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        yield started
        started.close()


@pytest.fixture
def opened(browser: Browser, tmp_path: Path) -> Iterator[Open]:
    """Opens a page; afterwards nothing was on its console, and nothing came from elsewhere."""
    errors: list[str] = []
    asked: list[str] = []
    contexts = []

    def open_page(page: str, *, width: int = 1280, scheme: str = "light", **more: Any) -> Page:  # noqa: ANN401
        path = tmp_path / "page.html"
        path.write_text(page, encoding="utf-8")
        more |= {"viewport": {"width": width, "height": 900}, "color_scheme": scheme}
        context = browser.new_context(**more)
        contexts.append(context)
        tab = context.new_page()
        tab.on("console", lambda message: errors.append(message.text))
        tab.on("pageerror", lambda error: errors.append(str(error)))
        tab.on("request", lambda request: asked.append(request.url))
        tab.goto(path.as_uri())
        return tab

    yield open_page
    for context in contexts:
        context.close()
    assert errors == []
    assert [url for url in asked if not url.startswith(("file:", "blob:", "data:"))] == []


@pytest.fixture(scope="module")
def pages(page: str) -> dict[str, str]:
    """Pages of runs of every kind."""
    failed = MadeRun()
    failed.add(config(), state="failed", reason="OSError: no such library\n  line 2")
    minimized = products_run()
    minimized.sweep["objectives"] = [
        asdict(minimize(metric)) for metric in ("epoch_s", "train_loss", "peak_rss_gib")
    ]
    return {
        "whole": page,
        "factored": page_of(factored_run()),
        "empty": page_of(MadeRun()),
        "failed": page_of(failed),
        "minimized": page_of(minimized),
    }


QUESTIONS = {
    "by how much": r"[\d,.]+ samples/s → [\d,.]+ samples/s\s+[\d.]+ m?s → [\d.]+ m?s an epoch",
    "on which machine": r"(Xeon 2\.2 GHz|AMD EPYC), \d cores, [\d.]+ GiB",
    "how sure": r"95 % interval [\d.]+ to [\d.]+|its speed-up is not known: ",
    "what each knob brings": r"knob\s+change\s+of\s+effect",
    "what it cost": r"the trials took\s+\d",
    "what next": r"Next\. \w",
    "more accuracy": r"most accuracy[\w, ]*\s(\S+=|the baseline's)",
    "less memory": r"(least memory|recommended|baseline)[\w, ]*\s+",
    "what failed and why": r"trials (\d+ trials, each|.*; most often: \w)",
    "is it my data": r"data (products-synthetic|drawn)",
}
"""Questions that a page answers on its first two screens, and the place of each answer."""
CUT_OFF = """[...document.querySelectorAll(".scroll")]
  .filter((box) => box.scrollWidth > box.clientWidth).map((box) => box.ariaLabel)"""
SHOWN = """bottom => {
  const texts = document.createTreeWalker(document.querySelector("main"), NodeFilter.SHOW_TEXT);
  const range = document.createRange(), seen = [];
  while (texts.nextNode()) {
    range.selectNodeContents(texts.currentNode);
    const box = range.getBoundingClientRect();
    if (box.width > 1 && box.bottom <= bottom && box.right <= innerWidth)
      seen.push(texts.currentNode.textContent.trim());
  }
  return seen.join(" ");
}"""


@pytest.mark.parametrize("kind", RUNS)
def test_ten_questions_are_answered_on_the_first_two_screens(
    kind: str, opened: Open, tmp_path: Path
) -> None:
    run = RUNS[kind](tmp_path / "run")
    tab = opened(html_of(View(tables=run)), width=1300)
    text = tab.evaluate(SHOWN, 2 * 1200)
    silent = [ask for ask, answer in QUESTIONS.items() if not re.search(answer, text)]
    assert silent == [], text
    assert tab.evaluate(CUT_OFF) == [], "tables that are wider than the page"
    done = run.trials[run.trials["state"] == "completed"]
    varied = [name for name in run.sweep.space if done[f"params.{name}"].nunique() > 1]
    effects = tab.locator("#effects").text_content()  # or why the effect of a knob is not known
    assert [name for name in varied if name not in effects] == []


def test_every_figure_is_drawn(page: str, opened: Open) -> None:
    tab = opened(page)
    names = tab.eval_on_selector_all(".plot", "plots => plots.map((plot) => plot.id)")
    assert {"speed-accuracy", "step-times"} <= set(names)
    drawn = tab.eval_on_selector_all(
        ".plot", "plots => plots.map((plot) => plot.querySelectorAll('.main-svg path').length)"
    )
    assert all(number > 0 for number in drawn)
    labels = tab.eval_on_selector_all(".plot", "plots => plots.map((p) => p.ariaLabel)")
    assert all(labels)
    assert len(set(labels)) == len(labels)


@pytest.mark.parametrize(
    ("kind", "width", "scheme"),
    [*(("whole", width, scheme) for width in (1280, 375) for scheme in ("light", "dark")),
     ("factored", 1280, "light"), ("factored", 375, "dark"), ("empty", 375, "light"),
     ("failed", 375, "dark"), ("minimized", 375, "light")],
)  # fmt: skip
def test_the_page_can_be_used_by_everyone(
    kind: str, width: int, scheme: str, pages: dict[str, str], opened: Open
) -> None:
    """By WCAG 2 A and AA as axe-core checks it; nothing is wider than the screen."""
    tab = opened(pages[kind], width=width, scheme=scheme)
    assert tab.evaluate("document.documentElement.scrollWidth") == width
    tab.evaluate("document.querySelectorAll('details').forEach((d) => (d.open = true))")
    tab.evaluate(AXE.read_text(encoding="utf-8"))
    found = tab.evaluate("levels => axe.run({ runOnly: levels })", LEVELS)
    errors = [(v["id"], v["nodes"][0]["html"][:200]) for v in found["violations"]]
    assert errors == []
    assert len(found["passes"]) > 10


def colour_of_recommended(tab: Page) -> str:
    star = tab.locator("#speed-accuracy .scatterlayer .points path").last
    return str(star.evaluate("mark => getComputedStyle(mark).fill"))


def test_a_config_that_is_pointed_at_shows_its_settings(page: str, opened: Open) -> None:
    tab = opened(page)
    tab.locator("#speed-accuracy .scatterlayer .points path").last.hover(force=True)
    label = tab.locator("#speed-accuracy .hoverlayer .hovertext")
    label.wait_for()
    text = label.text_content() or ""
    assert "num_workers=3" in text
    assert re.search("unresolved, .* of the best", text)


def rgb(colour: str) -> str:
    return f"rgb({', '.join(str(int(colour[place : place + 2], 16)) for place in (1, 3, 5))})"


def test_figures_are_dark_on_a_dark_screen_and_light_on_paper(page: str, opened: Open) -> None:
    tab = opened(page, scheme="dark")
    assert colour_of_recommended(tab) == rgb(style.DARK[style.Colour.GREEN])
    tab.emulate_media(color_scheme="light")
    assert colour_of_recommended(tab) == rgb(style.Colour.GREEN)
    tab.emulate_media(color_scheme="dark", media="print")
    assert colour_of_recommended(tab) == rgb(style.Colour.GREEN)
    paper = tab.evaluate("getComputedStyle(document.body).backgroundColor")
    assert paper == rgb(style.Colour.PAPER)
    assert tab.locator(".tools").first.is_hidden()


def test_the_accuracy_floor_is_the_edge_until_a_double_click(page: str, opened: Open) -> None:
    tab = opened(page)
    ends = "document.getElementById('speed-accuracy').layout.yaxis.range"
    first = tab.evaluate(ends)
    tab.locator("#speed-accuracy .nsewdrag").dblclick(position={"x": 5, "y": 5})
    tab.wait_for_function(f"{ends}[0] < {first[0] - 0.005}")


def test_a_click_sorts_the_table_and_keeps_missing_figures_last(page: str, opened: Open) -> None:
    tab = opened(page)
    table = tab.get_by_role("table", name="All trials")
    title = table.get_by_role("columnheader", name="samples_per_s")
    column = title.evaluate("title => title.cellIndex")
    for state in ("ascending", "descending"):
        title.get_by_role("button").click()
        assert title.get_attribute("aria-sort") == state
        cells = table.locator(f"tbody tr td:nth-child({column + 1})").all_inner_texts()
        speeds = [int(cell.replace(",", "")) for cell in cells if cell]
        assert len(speeds) == 31
        assert speeds == sorted(speeds, reverse=state == "descending")
        assert cells[31:] == [""] * 4


def test_tables_and_figures_are_copied_and_saved_as_csv(
    page: str, opened: Open, tmp_path: Path
) -> None:
    tab = opened(page, permissions=["clipboard-read", "clipboard-write"])
    figure = tab.locator("figure:has(#speed-accuracy)")
    figure.get_by_role("button", name="Copy CSV").click()
    figure.get_by_role("button", name="Copied").wait_for()
    lines = tab.evaluate("navigator.clipboard.readText()").splitlines()
    assert len(lines) == 1 + 24
    assert {"params.num_workers", "metrics.samples_per_s", "mark"} <= set(lines[0].split(","))
    with tab.expect_download() as download:
        tab.locator("#speed .tools").last.get_by_role("button", name="Save CSV").click()
    assert download.value.suggested_filename == "the-front.csv"
    download.value.save_as(tmp_path / "front.csv")
    front = pd.read_csv(tmp_path / "front.csv")
    assert front["val_acc"].between(0.9, 0.93).all(), "a share, not per cent"
    assert front["samples_per_s"].gt(1000).all()


def test_inside_mlflow_the_text_itself_is_shown(page: str, opened: Open) -> None:
    """MLflow shows artifacts in this frame: no clipboard, no downloads, no storage."""
    shell = (
        "<!doctype html><html lang='en'><title>MLflow</title><body>"
        "<iframe sandbox='allow-scripts' title='artifact' style='width:1200px;height:3000px' "
        f'srcdoc="{html.escape(page)}"></iframe></body></html>'
    )
    tab = opened(shell)
    frame = tab.frame_locator("iframe")
    frame.locator("#speed-accuracy .main-svg").first.wait_for()
    assert frame.get_by_role("button", name="Save CSV").count() == 0
    figure = frame.locator("figure:has(#speed-accuracy)")
    figure.get_by_role("button", name="Copy CSV").click()
    area = figure.get_by_role("textbox", name="Text to copy")
    assert area.input_value().startswith("params.")
    ends = "area => [area.selectionStart, area.selectionEnd === area.value.length]"
    assert area.evaluate(ends) == [0, True]
    figure.get_by_role("button", name="Copy CSV").click()
    assert area.count() == 0
    copies = frame.locator("#recommendation").get_by_role("button", name="Copy")
    copies.first.click()
    shown = frame.locator("#recommendation textarea")
    assert "python -m orchestrator" in shown.input_value()
