"""The page as a whole, its view, its tables and the picture of its front."""

import hashlib
import json
import re
from pathlib import Path
from xml.etree import ElementTree

import pandas as pd
from plotly.offline import get_plotlyjs_version

from orchestrator.analysis.report import drawing, write
from orchestrator.analysis.report.drawing import Figure
from orchestrator.analysis.report.sections.scatter import scatter_figures
from orchestrator.analysis.report.tables import figure_cell
from orchestrator.analysis.report.view import View
from orchestrator.analysis.report.write import front_picture, plotly_js, sections_of
from orchestrator.measurement.blocks import Phase
from tests.orchestrator.analysis.made_runs import MadeRun, config
from tests.orchestrator.analysis.report.pages import page_of, text_of, view_of_run


def test_the_page_contains_everything_itself(page: str) -> None:
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
        "--set lr=0.01 --set batch_size=4000 --set num_workers=3",
        "Of 24 completed configs 12 accurate enough to be ranked",
        "needs 2 GPUs, the largest node has 0",
        "Deep Graph Library tutorial, 2018 laptop",
        "with the spread between fresh runs in them",
        "Xeon 2.2 GHz",
        "0a3ebe6d1c with uncommitted changes",
    ):
        assert words in text, words


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


VENDORED = Path(write.__file__).parent / "vendored"


def test_plotly_js_is_of_the_version_that_plotly_draws_for_and_unchanged() -> None:
    assert f"v{get_plotlyjs_version()}\n" in plotly_js()[:200]
    for line in (VENDORED / "SHA256SUMS").read_text().splitlines():
        digest, name = line.split()
        assert hashlib.sha256((VENDORED / name).read_bytes()).hexdigest() == digest


def test_plotly_js_has_every_trace_that_the_figures_use() -> None:
    """The bundle is a part of the whole: another type of trace would be an empty plot."""
    package = Path(write.__file__).parents[1]
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


def test_units_are_in_the_head_alone() -> None:
    assert figure_cell("step_ms", 12.5).text == "12.5"
    assert figure_cell("peak_rss_gib", 1.25, " †").text == "1.25 †"
    assert figure_cell("val_acc", 0.915).text == "91.50 %"


def test_no_id_of_the_page_is_given_twice_and_no_section_is_empty(view: View) -> None:
    """A figure is drawn into the element of its name: a section's would be drawn over."""
    sections = sections_of(view)
    names = [section.name for section in sections]
    names += [figure.name for section in sections for figure in section.figures]
    assert len(set(names)) == len(names)
    for section in sections:
        is_shown = bool(section.table or section.figures or section.lines or section.facts)
        assert is_shown != bool(section.missing), section.name


def picture_of(view: View) -> str:
    text = front_picture([one.to_json() for one in scatter_figures(view)], "made & drawn")
    ElementTree.fromstring(text)  # well-formed
    return text


def test_the_picture_has_a_mark_for_each_config_in_sight_and_a_legend(view: View) -> None:
    text = picture_of(view)
    for word in ("made &amp; drawn", "recommended", "baseline", "speed (samples/s)",
                 "★"):  # fmt: skip
        assert word in text
    xs = [float(x) for x in re.findall(r'<text x="([\d.]+)"[^>]*>[★■◆●○]', text)]
    assert len(xs) > len(scatter_figures(view)[0].data)
    assert all(0 <= x <= 800 for x in xs)


def test_the_legend_fits_into_the_picture_with_the_marks_of_other_load() -> None:
    run, load = MadeRun(), {"tags.contaminated": "30 %"}
    speeds = ((0, 900.0, 0.95), (1, 1000.0, 0.949), (2, 950.0, 0.948), (3, 1300.0, 0.6))
    for workers, speed, accuracy in speeds:
        for lr, cells in ((3e-3, {}), (1e-2, load)):
            c = config(num_workers=workers, lr=lr)
            speed, figures = speed * (1.2 if cells else 1.0), {"metrics.val_acc": accuracy}
            run.add_runs(c, [speed], **cells, **figures)
    text = picture_of(view_of_run(run))
    ((length, legend),) = re.findall(r'<text x="80" y="40"([^>]*)>(.*?)</text>', text)
    words = re.sub("<[^>]*>|&#160;", "", legend)
    assert legend.count("<tspan") > 5
    assert 6.2 * len(words) < 720 or "textLength" in length


# -- figures


def made_figure(table: pd.DataFrame) -> Figure:
    drawn = Figure("speeds", table, "", height=300)
    drawn.add("scatter", x=pd.Series([1.0, float("nan")]), y=[2, 3])
    drawn.line(1.5)
    return drawn


def test_the_page_has_short_numbers_and_nothing_for_what_was_not_measured() -> None:
    table = pd.DataFrame(
        {"lr": [1e-05, None], "n": [1, 2], "name": ["a", None], "ok": [True, False]}
    )
    table["metrics.speed"] = [1234.56789, float("nan")]
    drawn = json.loads(json.dumps(made_figure(table).to_json(), allow_nan=False))
    assert drawn["columns"] == ["lr", "n", "name", "ok", "metrics.speed"]
    assert drawn["rows"] == [[1e-05, None], [1, 2], ["a", None], [True, False], [1234.57, None]]
    assert drawn["data"] == [{"type": "scatter", "x": [1.0, None], "y": [2, 3]}]


def test_it_can_be_made_plotlys_own_figure() -> None:
    figure = made_figure(pd.DataFrame()).figure
    assert list(figure.data[0].y) == [2, 3]
    assert figure.layout.shapes[0].y0 == 1.5


def test_an_axis_has_the_metrics_name_and_unit() -> None:
    metrics = ("samples_per_s", "val_acc", "epoch_s", "my_score")
    axes = [drawing.metric_axis(metric) for metric in metrics]
    assert [axis["title"]["text"] for axis in axes] == [
        "speed (samples/s)", "validation accuracy", "epoch_s (s)", "my_score",
    ]  # fmt: skip
    assert [axis.get("tickformat") for axis in axes] == [None, ".2~%", None, None]


def test_every_phase_has_a_colour_in_the_order_of_a_step() -> None:
    assert list(drawing.PHASES) == [*map(str, Phase), "other"]
    assert len(set(drawing.PHASES.values())) == len(drawing.PHASES)
