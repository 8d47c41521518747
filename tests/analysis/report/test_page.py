"""The page as a whole."""

from __future__ import annotations

import html
import re
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from analysis.report.page import report_html
from analysis.report.view import View
from tests.analysis.made_runs import MadeRun, config, products_run
from tests.analysis.report.pages import page_of, text_of


def test_the_page_holds_everything_itself(page: str) -> None:
    outside = re.findall(
        r"<(?:script|link|img|iframe)[^>]*(?:src|href)=[\"'](?!data:)[^\"']*", page
    )
    assert outside == []
    assert "@import" not in re.findall(r"<style>(.*?)</style>", page, re.DOTALL)[0]


def test_the_page_has_the_question_the_answer_and_its_grounds(page: str) -> None:
    text = text_of(page)
    for words in (
        "Which loader settings train GraphSAGE fastest",
        "Not the data set that was asked for. ogbn-products is not under data; running on",
        "3.86\u00d7 the baseline's speed confirmed; 3.99x when searching",
        "95 % interval 3.75 to 3.99",
        "3.99x in the runs that selected it",
        "--set lr=0.01 --set batch_size=4000 --set num_workers=3",
        "Of 24 completed configs 12 accurate enough to be ranked: 1 best, 9 worse, 2 unresolved",
        "needs 2 GPUs, the largest node has 0",
        "Deep Graph Library tutorial, 2018 laptop",
        "with the spread between fresh runs in them",
        "Xeon 2.2 GHz",
        "0a3ebe6d1c with uncommitted changes",
    ):
        assert words in text, words
    assert '<div class="big">' in page, "the speed-up is shown"
    assert "Under other conditions" not in text


def test_verdicts_have_their_colour_in_both_tables(page: str) -> None:
    assert page.count('<span class="verdict best">') == 2
    assert page.count('<span class="verdict unresolved">') == 3


def test_without_repeats_the_intervals_are_called_those_within_the_run(view: View) -> None:
    page = report_html(replace(view, pool=None))
    assert "within the run alone, since nothing was repeated" in html.unescape(page)


def test_configs_of_another_device_have_a_table_of_their_own() -> None:
    run = products_run()
    for row in run.rows[:4]:
        row["device"] = "NVIDIA H200"
    text = text_of(page_of(run))
    assert "Under other conditions" in text
    assert "4 trials completed under other conditions (device NVIDIA H200)" in text
    assert "Of 20 completed configs" in text


def test_texts_of_users_and_programs_cannot_change_the_page() -> None:
    run = MadeRun()
    attack = "</script><script>document.title='x'</script>"
    run.add(config(allocator=attack))
    run.add(config(num_workers=3), state="failed", reason=attack)
    run.sweep |= {"question": attack, "name": attack, "data_note": attack}
    page = page_of(run)
    assert "<script>document.title" not in page
    assert "&lt;/script&gt;" in page


def test_a_run_of_which_nothing_completed_has_a_page_all_the_same() -> None:
    run = MadeRun()
    run.add(config(), state="infeasible", reason="needs 2 GPUs")
    text = text_of(page_of(run))
    assert "None. No trial completed (1 infeasible; most often: needs 2 GPUs)." in text
    assert "No config completed with every objective measured." in text
    assert "Where the time goes" not in text
    assert "out of sight" not in text


def test_three_objectives_and_minimized_ones_are_drawn() -> None:
    run = products_run()
    run.sweep["objectives"] = [
        {"metric": "epoch_s", "goal": "minimize"},
        {"metric": "val_acc", "goal": "maximize"},
        {"metric": "peak_rss_gib", "goal": "minimize"},
    ]
    assert "epoch_s (s)" in page_of(run)


@pytest.fixture
def dom(chromium: str, tmp_path: Path) -> Callable[[str], str]:
    """The page's document after its scripts have run, in a browser without a network."""

    def dump(page: str) -> str:
        path = tmp_path / "page.html"
        path.write_text(page, encoding="utf-8")
        command = [
            chromium, "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic",
            "--no-first-run", "--disable-background-networking", "--disable-component-update",
            "--disable-sync", "--host-resolver-rules=MAP * ~NOTFOUND", "--virtual-time-budget=5000",
            f"--user-data-dir={tmp_path / 'profile'}", "--dump-dom", path.as_uri(),
        ]  # fmt: skip
        done = subprocess.run(command, capture_output=True, text=True, timeout=90, check=True)
        return done.stdout

    return dump


@pytest.mark.slow
def test_a_browser_draws_every_figure(page: str, dom: Callable[[str], str]) -> None:
    drawn = dom(page)
    names = re.findall(r'<div class="plot[^"]*" id="([^"]+)"', drawn)
    assert len(names) == 6
    parts = re.split(r'<div class="plot[^"]*" id="', drawn)[1:]
    assert all('class="main-svg"' in part for part in parts)


@pytest.mark.slow
def test_a_click_sorts_the_table_and_keeps_missing_figures_last(
    page: str, dom: Callable[[str], str]
) -> None:
    click = """<script>
      const title = [...document.querySelectorAll("table.sortable th")]
        .find((th) => th.textContent === "samples_per_s");
      const column = [...title.parentNode.children].indexOf(title);
      const order = () => [...title.closest("table").tBodies[0].rows]
        .map((row) => row.cells[column].textContent.trim() || "-").join(";");
      title.click(); const up = order();
      title.click(); const down = order();
      document.title = up + "|" + down;
    </script></body>"""
    title = re.search(r"<title>(.*?)</title>", dom(page.replace("</body>", click)))
    assert title is not None
    for text, ascending in zip(title[1].split("|"), (True, False), strict=True):
        cells = text.split(";")
        speeds = [int(cell.replace(",", "")) for cell in cells if cell != "-"]
        assert len(speeds) == 31
        assert speeds == sorted(speeds, reverse=not ascending)
        assert cells[31:] == ["-"] * 4
