"""The page as a whole."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

from plotly.offline import get_plotlyjs_version

from orchestrator.analysis.report import page as page_module
from orchestrator.analysis.report.page import plotly_js
from tests.orchestrator.analysis.made_runs import MadeRun, config
from tests.orchestrator.analysis.report.pages import page_of, text_of


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
        "trains 3.86 times as fast as the baseline (3.75 to 3.99)",
        "95 % interval 3.75 to 3.99",
        "3.99x in the runs that selected it",
        "--set lr=0.01 --set batch_size=4000 --set num_workers=3",
        "Of 24 completed configs 12 accurate enough to be ranked",
        "needs 2 GPUs, the largest node has 0",
        "Deep Graph Library tutorial, 2018 laptop",
        "with the spread between fresh runs in them",
        "Xeon 2.2 GHz",
        "0a3ebe6d1c with uncommitted changes",
    ):
        assert words in text, words
    assert "Under other conditions" not in text


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
    assert "No trial completed (1 infeasible; most often: needs 2 GPUs)".lower() in text.lower()
    assert "No config completed with every objective measured." in text
    assert "Where the time goes" not in text
    assert "out of sight" not in text


VENDORED = Path(page_module.__file__).parent / "vendored"


def test_plotly_js_is_of_the_version_that_plotly_draws_for_and_unchanged() -> None:
    assert f"v{get_plotlyjs_version()}\n" in plotly_js()[:200]
    for line in (VENDORED / "SHA256SUMS").read_text().splitlines():
        digest, name = line.split()
        assert hashlib.sha256((VENDORED / name).read_bytes()).hexdigest() == digest


def test_plotly_js_has_every_trace_that_the_figures_use() -> None:
    """The bundle is a part of the whole: another type of trace would be an empty plot."""
    package = Path(page_module.__file__).parents[1]
    used = {
        name
        for path in package.rglob("*.py")
        for name in re.findall(r'\.add\(\s*"(\w+)"', path.read_text())
    }
    assert used == {"scatter", "bar"}
    modules = set(re.findall(r'moduleType:"trace",name:"(\w+)"', plotly_js()))
    assert used <= modules


def test_nothing_in_the_page_is_larger_than_it_needs_to_be(page: str) -> None:
    assert len(page) < len(plotly_js()) + 200_000
    assert '"template"' not in page.rpartition('<script id="figures"')[2]
