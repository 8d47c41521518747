"""``recommended.json``."""

from __future__ import annotations

import pytest

from tests.orchestrator.analysis.findings.runs import confirmed
from tests.orchestrator.analysis.made_runs import MadeRun, config, content_of


def test_figures_that_are_not_known_are_null() -> None:
    run = MadeRun()
    run.add(config(), state="infeasible", reason="needs 2 GPUs")
    content = content_of(run.tables)
    assert content["figures"]["samples_per_s"] is None
    names = ("config", "speedup", "noise_floor", "interference")
    assert {name: content[name] for name in names} == dict.fromkeys(names)
    assert "within 0.5 points of the best" in content["rule"]


def test_it_begins_with_the_answer_and_has_all_that_it_rests_on(made: MadeRun) -> None:
    content = content_of(made.tables)
    assert list(content)[:3] == ["schema_version", "status", "sentence"]
    assert (content["schema_version"], content["status"]) == (2, "confirmed")
    assert (content["verdict"], content["data"]) == ("unresolved", "products-synthetic")
    assert content["changed"] == {
        "batch_size": {"value": 4000, "baseline": 1000},
        "num_workers": {"value": 3, "baseline": 0},
        "lr": {"value": 0.01, "baseline": 0.003},
    }
    speedup = content["speedup"]
    assert (speedup["basis"], speedup["num_pairs"]) == ("confirm", 3)
    assert f"{speedup['ratio']:.2f}x the baseline's" in speedup["text"]
    ours, theirs = (which["figures"]["samples_per_s"] for which in (content, content["baseline"]))
    assert ours / theirs == pytest.approx(speedup["ratio"]), "one stage, one ratio"
    assert content["noise_floor"]["stage"] == "confirm"
    assert content["cost"]["search_s"] == pytest.approx(made.trials["wall_s"].sum())
    assert {"name", "health", "text"} == {key for check in content["checks"] for key in check}


def test_a_factor_that_is_not_known_is_in_no_figure_of_it() -> None:
    speedup = content_of(confirmed([500.0, 4000.0], [1000.0, 300.0]).tables)["speedup"]
    known = ("ratio", "low", "high", "searching_ratio")
    assert {name: speedup[name] for name in known} == dict.fromkeys(known)
    assert "more than a factor of 1.5" in speedup["why_not_known"]
    assert speedup["text"] == f"speed-up not known: {speedup['why_not_known']}"
