"""The first screen: the answer, its three numbers, what changes, and its checks."""

from __future__ import annotations

from typing import Any

from orchestrator.analysis.report.headline import headline_of, settings_of
from orchestrator.analysis.report.view import View
from tests.orchestrator.analysis.findings.runs import FAST, confirmed
from tests.orchestrator.analysis.made_runs import (
    MadeRun,
    config,
    partly_contaminated_run,
    products_run,
)
from tests.orchestrator.analysis.report.pages import page_of, text_of, view_of_run


def numbers_of(view: View) -> list[tuple[str, list[str]]]:
    numbers: list[dict[str, Any]] = headline_of(view)["numbers"]
    return [(number["figure"], number["under"]) for number in numbers]


def test_a_confirmed_speed_up_is_shown_with_its_interval_and_nothing_beside_it(view: View) -> None:
    headline = headline_of(view)
    assert (headline["status"], headline["symbol"]) == ("confirmed", "✔")
    assert headline["basis"] == "3 pairs of confirm runs, which did not select"
    (speedup, accuracy, cost) = numbers_of(view)
    assert speedup == ("3.86\N{MULTIPLICATION SIGN}", ["95 % interval 3.75 to 3.99"])
    assert accuracy[0] == "\N{MINUS SIGN}0.13 points"
    assert accuracy[1][1] == "91.45 %, baseline 91.57 %"
    assert cost[1] == [
        "saves 2.5 s an epoch: paid back after 110 epochs", "peak memory 1.95 GiB, baseline 0.9",
    ]  # fmt: skip


def test_the_ratio_of_the_searching_runs_stands_in_the_details_with_its_name() -> None:
    run = confirmed([2000.0, 2010.0, 2005.0], [1000.0, 1000.0, 1000.0], searching=4000.0)
    first, details = page_of(run).split('<details class="why">')
    assert "4.00" not in text_of(first)
    assert "In the runs that selected the settings the ratio was 4.00" in text_of(details)


def test_a_factor_that_is_not_known_is_not_shown() -> None:
    run = confirmed([500.0, 4000.0], [1000.0, 300.0])
    headline = headline_of(view_of_run(run))
    figure, under = numbers_of(view_of_run(run))[0]
    assert (headline["status"], headline["symbol"]) == ("not confirmed", "?")
    assert (figure, headline["basis"]) == ("not known", "")
    assert under == [view_of_run(run).findings.why_not_known]
    assert "\N{MULTIPLICATION SIGN}" not in text_of(page_of(run)).split("Speed against")[0]


def test_a_busy_machine_has_a_banner_and_no_factor() -> None:
    cells = {"tags.contaminated": "40 % of its cores' time", "metrics.foreign_share": 0.4}
    run = confirmed([27_570.0, 27_600.0, 27_580.0], [1000.0, 1001.0, 1002.0], **cells)
    headline = headline_of(view_of_run(run))
    assert headline["busy"].startswith(
        "Other load: 8 of 8 runs disturbed, where others took 40 % of their cores' time: "
    )
    assert numbers_of(view_of_run(run))[0] == (
        "not known", ["other load disturbed 3 of 3 pairs of confirm runs"],
    )  # fmt: skip
    page = text_of(page_of(run))
    assert "A busy machine." in page
    assert "27.5" not in page.split("To train")[0]


def test_an_idle_machine_has_no_banner(view: View) -> None:
    assert headline_of(view)["busy"] == ""
    assert "A busy machine" not in page_of(products_run())


def test_the_baseline_itself_has_its_accuracy_and_no_factor() -> None:
    run = MadeRun()
    run.add_runs(config(), [1000.0, 1001.0])
    run.add_runs(FAST, [700.0, 701.0])
    view = view_of_run(run)
    speedup, accuracy, cost = numbers_of(view)
    assert cost[1] == ["peak memory 1 GiB"]
    assert speedup == ("none", ["the baseline itself is recommended"])
    assert accuracy[0] == "90.00 %"
    assert settings_of(view)["changed"] == []
    assert "Every setting stays as in the baseline." in page_of(run)


def test_figures_say_of_how_many_runs_they_are_where_that_differs(view: View) -> None:
    mixed = view_of_run(partly_contaminated_run())
    assert [figure["name"] for figure in headline_of(mixed)["figures"]] == [
        "samples_per_s (2 runs)", "val_acc (3 runs)",
    ]  # fmt: skip
    assert [figure["name"] for figure in headline_of(view)["figures"]] == [
        "samples_per_s", "val_acc", "test_acc",
    ]  # fmt: skip


def test_the_most_frequent_class_s_share_is_beside_the_accuracy() -> None:
    run = products_run()
    for row in run.rows:
        row["metrics.val_majority_share"] = 0.3
    figures = headline_of(view_of_run(run))["figures"]
    assert figures[-1] == {"name": "val_majority_share", "value": "30 %", "baseline": "30 %"}


def test_only_the_settings_that_changed_are_shown_with_the_baselines_value(view: View) -> None:
    settings = settings_of(view)
    changed = {item["name"]: (item["value"], item["baseline"]) for item in settings["changed"]}
    assert changed == {
        "batch_size": ("4000", "1000"), "num_workers": ("3", "0"), "lr": ("0.01", "0.003"),
    }  # fmt: skip
    assert {item["name"] for item in settings["same"]} == {*config()} - {*changed}


def test_each_check_has_a_symbol_a_word_and_a_figure(view: View) -> None:
    checks = {check["name"]: check for check in headline_of(view)["checks"]}
    assert checks["other load"]["text"] == "1 of 31 runs disturbed"
    assert (checks["other load"]["symbol"], checks["other load"]["health"]) == ("!", "warning")
    assert (checks["noise floor"]["symbol"], checks["noise floor"]["health"]) == ("✔", "pass")
