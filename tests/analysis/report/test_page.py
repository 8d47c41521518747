from __future__ import annotations

import html
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from analysis.recommendation.recommend import recommend
from analysis.report import report_html, view_of
from analysis.report.published import studies
from analysis.report.scatter import speed_accuracy
from analysis.report.steps import phase_times
from tests.analysis.made_runs import MadeRun, config, products_run


def page_of(run: MadeRun) -> str:
    recommendation = recommend(run.trials, run.sweep)
    return report_html(view_of(run.trials, pd.DataFrame(run.curves), run.sweep, recommendation))


def text_of(page: str) -> str:
    """The page without its scripts, styles and tags."""
    bare = re.sub(r"<(script|style).*?</\1>", " ", page, flags=re.DOTALL)
    return html.unescape(re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", bare)))


@pytest.fixture(scope="module")
def page() -> str:
    return page_of(products_run())


def test_the_page_holds_everything_itself(page: str) -> None:
    outside = re.findall(
        r"<(?:script|link|img|iframe)[^>]*(?:src|href)=[\"'](?!data:)[^\"']*", page
    )
    assert outside == []
    assert "@import" not in re.findall(r"<style>(.*?)</style>", page, re.DOTALL)[0]


def test_the_page_says_what_was_asked_found_and_how_sure_it_is(page: str) -> None:
    text = text_of(page)
    for words in (
        "Which loader settings train GraphSAGE fastest",
        "Not the data set that was asked for. ogbn-products is not under data; running on",
        "3.86\u00d7 the baseline's speed confirmed; 3.99x when searching",
        "95 % interval 3.75 to 3.99",
        "3.99x in the runs that selected it",
        "--set lr=0.01 --set batch_size=4000 --set num_workers=3",
        "needs 2 GPUs, the largest node has 0",
        "Deep Graph Library tutorial, 2018 laptop",
        "Xeon 2.2 GHz",
        "0a3ebe6d1c with uncommitted changes",
    ):
        assert words in text, words


def test_the_page_says_how_each_config_stands_to_the_best_and_by_what_noise(page: str) -> None:
    text = text_of(page)
    for words in (
        "Of 24 completed configs 12 accurate enough to be ranked: 1 best, 9 worse, 2 unresolved",
        "with 95 % confidence the best config is not called worse and each ratio to it lies in its "
        "interval; of configs that are equally good one may be called worse more often than in 5 %",
        "pooled over 2 repeated configs, confirm runs included; 4 degrees of freedom",
        "Noise floor: 3 confirm runs of the baseline differ from each other by up to 1.0 %",
        "a difference of 5 % is found in four of five cases with 3 pairs of confirm runs",
        "with the spread between fresh runs in them",
    ):
        assert words in text, words
    assert page.count('<span class="verdict best">') == 2  # the front's table and the standing's
    assert page.count('<span class="verdict unresolved">') == 3
    assert "Under other conditions" not in text
    assert '<div class="big">' in page, "the speed-up is shown"


def test_without_repeats_the_page_says_that_nothing_can_be_told() -> None:
    run = products_run()
    run.rows = [row for row in run.rows if row["stage"] == "train"]
    text = text_of(page_of(run))
    assert "No config was run twice" in text
    assert "there is no noise floor" in text
    assert "within the run alone, since nothing was repeated" in text


def test_a_claim_within_the_noise_is_marked_where_it_stands_large() -> None:
    run = products_run()
    for row in run.rows:
        if row["stage"] == "confirm":
            row["metrics.samples_per_s"] = 1000.0 + row["repeat"] + 9 * row["params.num_workers"]
    run.rows[-1]["metrics.samples_per_s"] = 1100.0
    page = page_of(run)
    assert '<div class="big unsure">' in page
    text = text_of(page)
    assert "within the noise within the margin of a tie 1," in text
    assert re.search(r"confirmed; \d\.\d\dx when searching", text)
    assert "that is within the noise: 3 confirm runs of the baseline" in text


def test_configs_of_another_device_have_a_table_of_their_own() -> None:
    run = products_run()
    for row in run.rows[:4]:
        row["device"] = "NVIDIA H200"
    text = text_of(page_of(run))
    assert "Under other conditions" in text
    assert "4 trials completed under other conditions (device NVIDIA H200)" in text
    assert "Of 20 completed configs" in text


def test_what_users_and_programs_wrote_cannot_change_the_page() -> None:
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


def test_published_ratios_stand_beside_ours() -> None:
    run = products_run()
    run.sweep["published"].append(
        {"source": "other", "knobs": {"num_workers": 16}, "figures": {"val_acc": 0.9}, "note": ""}
    )
    recommendation = recommend(run.trials, run.sweep)
    view = view_of(run.trials, pd.DataFrame(run.curves), run.sweep, recommendation)
    laptop, other = studies(view)
    row = laptop.rows[1]
    assert (row.settings, row.theirs, row.their_ratio) == ("num_workers=3", "44.51 s", "0.55")
    ours = run.trials.set_index("trial_id")["metrics.epoch_s"]
    # Of the six configs with 3 workers the one that is otherwise the baseline.
    assert row.our_config == "lr=0.003 batch_size=1000 num_workers=3"
    assert row.our_ratio == f"{ours.iloc[5] / ours.iloc[4]:.2f}"
    assert (other.rows[0].ours, other.rows[0].our_ratio) == ("not measured", "")


def test_phases_add_up_to_the_time_of_as_many_samples(made: MadeRun) -> None:
    rows = made.trials[made.trials["state"] == "completed"]
    parts = phase_times(rows)
    assert parts.sum(axis=1).tolist() == pytest.approx(
        (1e6 / rows["metrics.samples_per_s"]).tolist(), rel=1e-6
    )


@pytest.mark.parametrize("times", [4.0, 400.0])
def test_a_config_out_of_sight_does_not_stretch_the_axis_of_speed(times: float) -> None:
    run = products_run()
    speed, accuracy = "metrics.samples_per_s", "metrics.val_acc"
    fastest = max(row[speed] for row in run.rows if row["state"] == "completed")
    for row in run.rows:
        if row["stage"] == "confirm":
            row.update({name: 2 * row[name] for name in row if name.startswith(speed)})
    ends = {f"{speed}_{scope}{end}": times * fastest for scope in ("", "within_") for end in
            ("low", "high")}  # fmt: skip
    run.add(config(lr=1.0), **{speed: times * fastest, accuracy: 0.1}, **ends)
    recommendation = recommend(run.trials, run.sweep)
    view = view_of(run.trials, pd.DataFrame(run.curves), run.sweep, recommendation)

    figure = speed_accuracy(view)

    low, high = figure.layout.xaxis.range
    if figure.layout.xaxis.type == "log":
        low, high = 10**low, 10**high
    shown = view.configs[view.configs[accuracy] > figure.layout.yaxis.range[0]][speed]
    assert len(shown) > 10
    assert low < shown.min() < shown.max() < high < 3 * fastest
    confirmed = view.confirmed[view.confirmed["is_recommended"]][speed]
    assert 1.5 * fastest < confirmed.item() < high, "runs that confirm are in sight as well"


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
