"""What a composed recommendation rests on, and the table of all composed configs."""

from __future__ import annotations

from orchestrator.analysis.recommendation.front import (
    SIGN,
    composed_notes,
    composed_table,
    rests_on,
    sign_of,
)
from tests.orchestrator.analysis.made_runs import factored_run

ROW = {"composed": True, "num_runs": 4, "num_all_runs": 1}


def test_a_composed_figure_says_what_it_rests_on() -> None:
    assert rests_on(ROW, "accuracy") == "speed from 4 probes, accuracy from 1 curve"
    assert sign_of(ROW) == f" {SIGN}"
    assert sign_of({**ROW, "composed": False}) == sign_of({}) == ""


def test_the_note_on_a_recommendation_says_if_it_was_trained_since() -> None:
    (note,) = composed_notes(ROW, "accuracy", is_trained=False)
    assert note == "selected by composed figures, speed from 4 probes, accuracy from 1 curve"
    (note,) = composed_notes(ROW, "accuracy", is_trained=True)
    assert note.endswith("accuracy from 1 curve; confirm runs trained it since")
    assert composed_notes({**ROW, "composed": False}, "accuracy", is_trained=False) == []


def test_the_table_has_every_config_and_no_column_without_a_figure() -> None:
    table = composed_table(factored_run().tables)
    assert len(table) == 24
    assert table.columns[:5].tolist() == ["state", "group", "composed", "on_front", "verdict"]
    assert table.notna().any().all()
    assert "metrics.peak_gpu_gib" not in table.columns
    stopped = table[table["state"] == "stopped"]
    assert not stopped["on_front"].any()
    assert set(stopped["verdict"]) == {""}
    assert table["speed_ids"].str.split().map(len).tolist() == table["num_runs"].tolist()


def test_settings_are_compared_once_and_configs_of_the_best_one_are_tied_with_it() -> None:
    tables = factored_run().tables
    ranked = tables.ranked[tables.ranked["verdict"] != ""]
    assert (ranked["verdict"] == "best").sum() == 1
    of_setting = ranked.groupby("speed_ids")["ratio_to_best"].nunique()
    assert (of_setting == 1).all()
    best = ranked.loc[ranked["verdict"] == "best", "speed_ids"].iloc[0]
    assert set(ranked.loc[ranked["speed_ids"] == best, "verdict"]) <= {"best", "tied"}
