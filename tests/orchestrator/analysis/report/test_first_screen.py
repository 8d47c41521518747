"""The first screen: the answer, its three numbers, what changes, its checks, what to copy."""

from __future__ import annotations

import ast
import json
from dataclasses import replace
from pathlib import Path

from orchestrator.analysis.findings.findings import findings
from orchestrator.analysis.knobs.of_run import figures_by_role
from orchestrator.analysis.report.first_screen import first_screen, numbers_of, to_copy
from orchestrator.analysis.report.view import View
from tests.orchestrator.analysis.findings.runs import FAST, confirmed
from tests.orchestrator.analysis.made_runs import (
    MadeRun,
    config,
    partly_contaminated_run,
    products_run,
)
from tests.orchestrator.analysis.report.pages import page_of, text_of, view_of_run


def figures_of(view: View) -> list[tuple[str, tuple[str, ...]]]:
    return [(number.figure, number.under) for number in numbers_of(view.findings)]


def test_a_confirmed_speed_up_is_shown_with_its_interval(view: View) -> None:
    first = first_screen(view)
    assert (first["symbol"], first["basis"]) == (
        "✔", "3 pairs of confirm runs, which did not select",
    )  # fmt: skip
    (speedup, accuracy, cost) = figures_of(view)
    assert speedup == ("3.86\N{MULTIPLICATION SIGN}", ("95 % interval 3.75 to 3.99",))
    assert accuracy[0] == "\N{MINUS SIGN}0.13 points"
    assert accuracy[1][1] == "91.45 %, baseline 91.57 %"
    assert cost[1] == (
        "saves 2.5 s an epoch: paid back after 110 epochs", "peak memory 1.95 GiB, baseline 0.9",
    )  # fmt: skip


def test_a_factor_that_is_not_known_is_not_shown() -> None:
    run = confirmed([500.0, 4000.0], [1000.0, 300.0])
    view = view_of_run(run)
    assert figures_of(view)[0] == ("not known", (view.findings.why_not_known,))
    assert (first_screen(view)["symbol"], first_screen(view)["basis"]) == ("?", "")
    assert "\N{MULTIPLICATION SIGN}" not in text_of(page_of(run)).split("Speed against")[0]


def test_a_busy_machine_has_a_banner_and_no_factor() -> None:
    cells = {"tags.contaminated": "40 % of its cores' time", "metrics.foreign_share": 0.4}
    run = confirmed([27_570.0, 27_600.0, 27_580.0], [1000.0, 1001.0, 1002.0], **cells)
    assert figures_of(view_of_run(run))[0] == (
        "not known", ("other load disturbed 3 of 3 pairs of confirm runs",),
    )  # fmt: skip
    page = text_of(page_of(run))
    assert "A busy machine. Other load: 8 of 8 runs disturbed, where others took 40 %" in page
    assert "27.5" not in page.split("To train")[0]


def test_the_baseline_itself_has_its_accuracy_and_no_factor() -> None:
    run = MadeRun()
    run.add_runs(config(), [1000.0, 1001.0])
    run.add_runs(FAST, [700.0, 701.0])
    view = view_of_run(run)
    speedup, accuracy, cost = figures_of(view)
    assert cost[1] == ("peak memory 1 GiB",)
    assert speedup == ("none", ("the baseline itself is recommended",))
    assert accuracy[0] == "90.00 %"
    assert first_screen(view)["changed"] == []
    assert "Every setting stays as in the baseline." in page_of(run)


def test_figures_have_their_number_of_runs_where_that_differs(view: View) -> None:
    mixed = view_of_run(partly_contaminated_run())
    assert [name for name, *_ in first_screen(mixed)["figures"]] == [
        "samples_per_s (2 runs)", "val_acc (3 runs)",
    ]  # fmt: skip
    assert [name for name, *_ in first_screen(view)["figures"]] == [
        "samples_per_s", "val_acc", "test_acc",
    ]  # fmt: skip


def test_only_the_settings_that_changed_are_shown_with_the_baselines_value(view: View) -> None:
    first = first_screen(view)
    changed = {name: (value, baseline) for _, name, value, baseline in first["changed"]}
    assert changed == {
        "batch_size": ("4000", "1000"), "num_workers": ("3", "0"), "lr": ("0.01", "0.003"),
    }  # fmt: skip
    assert {name for _, name, _ in first["same"]} == {*config()} - {*changed}


def test_every_form_to_copy_has_the_whole_config(view: View) -> None:
    parts = to_copy(replace(view, run_dir=Path("runs/my sweep/1"))).values()
    command, content, code, again = map(" ".join, parts)
    asked = config(lr=0.01, batch_size=4000, num_workers=3)
    assert json.loads(content) == {**asked, "fanouts": [10, 25]}
    assert ast.literal_eval(code.removeprefix("config = ")) == asked
    assert command.endswith("train 'runs/my sweep/1' --save model.pt")
    assert again == (
        "python -m orchestrator sweeps/products_loader.py --set lr=0.01 --set batch_size=4000 "
        "--set num_workers=3"
    )


def test_every_objective_is_in_the_sentence_the_numbers_and_the_effects() -> None:
    run = products_run()
    run.sweep["objectives"].append({"metric": "peak_rss_gib", "goal": "minimize", "bound": 4})
    found = findings(run.tables)
    assert "; peak_rss_gib 1.95 GiB (baseline 0.9 GiB)" in found.sentence
    assert [n.figure for n in numbers_of(found) if n.label == "peak_rss_gib"] == ["1.95 GiB"]
    assert "peak_rss_gib" in {figures.metric for figures in figures_by_role(run.tables)}
