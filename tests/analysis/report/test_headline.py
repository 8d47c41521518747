"""The recommendation in large figures and as a command."""

from __future__ import annotations

import re

import pytest

from analysis.report.headline import command_of, headline_of, settings_of
from analysis.report.view import View
from tests.analysis.made_runs import partly_contaminated_run, products_run
from tests.analysis.report.pages import view_of_run


def test_a_confirmed_speed_up_is_shown_with_its_interval(view: View) -> None:
    headline = headline_of(view)
    assert (headline["ratio"], headline["is_shown"]) == ("3.86", True)
    assert headline["under"] == [
        "the baseline's speed", "confirmed; 3.99x when searching", "95 % interval 3.75 to 3.99",
    ]  # fmt: skip
    assert [item["label"] for item in headline["figures"]][:2] == ["samples_per_s", "val_acc"]


def test_the_most_frequent_class_s_share_is_beside_the_accuracy() -> None:
    run = products_run()
    for row in run.rows:
        row["metrics.val_majority_share"] = 0.3
    view = view_of_run(run)
    assert headline_of(view)["figures"][-1] == {"label": "val_majority_share", "text": "30 %"}
    assert view.recommendation.to_json()["val_majority_share"] == pytest.approx(0.3)


def test_a_claim_within_the_noise_is_marked_where_it_stands_large() -> None:
    run = products_run()
    for row in run.rows:
        if row["stage"] == "confirm":
            row["metrics.samples_per_s"] = 1000.0 + row["repeat"] + 9 * row["params.num_workers"]
    run.rows[-1]["metrics.samples_per_s"] = 1100.0
    view = view_of_run(run)
    headline = headline_of(view)
    assert not headline["is_shown"]
    assert headline["under"][-2:] == ["within the noise", "within the margin of a tie"]
    assert re.fullmatch(r"confirmed; \d\.\d\dx when searching", headline["under"][1])
    assert "that is within the noise: 3 confirm runs of the baseline" in (
        view.recommendation.how_sure
    )


def test_the_figures_say_of_how_many_runs_they_are_where_that_differs(view: View) -> None:
    mixed = view_of_run(partly_contaminated_run())
    assert [figure["label"] for figure in headline_of(mixed)["figures"]] == [
        "samples_per_s (2 runs)", "val_acc (3 runs)",
    ]  # fmt: skip
    assert [figure["label"] for figure in headline_of(view)["figures"]] == [
        "samples_per_s", "val_acc", "test_acc",
    ]  # fmt: skip


def test_the_settings_name_the_baselines_value_where_it_differs(view: View) -> None:
    settings = {item["name"]: (item["value"], item["baseline"]) for item in settings_of(view)}
    assert settings == {
        "lr": ("0.01", "0.003"), "batch_size": ("4000", "1000"), "num_workers": ("3", "0"),
    }  # fmt: skip


def test_the_command_is_in_parts_that_belong_together(view: View) -> None:
    assert command_of(view) == [
        "python -m orchestrator sweeps/products_loader.py", "--set lr=0.01",
        "--set batch_size=4000", "--set num_workers=3",
    ]  # fmt: skip
