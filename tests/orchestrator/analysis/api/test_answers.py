from __future__ import annotations

import pytest

import orchestrator.analysis as an


def test_a_run_is_recommended_from_as_its_report_does(run: an.RunTables) -> None:
    best = an.recommend(run)
    assert best.config is not None
    assert (best.config["num_workers"], best.config["batch_size"]) == (3, 4000)
    assert best.speedup is not None
    assert best.speedup.ratio is not None
    assert best.speedup.ratio > 3


def test_a_frame_is_no_whole_run(run: an.RunTables) -> None:
    with pytest.raises(an.TableError, match="whole run, not a DataFrame"):
        an.recommend(run.trials)  # type: ignore[arg-type]
    with pytest.raises(an.TableError, match="not a str"):
        an.recommend("runs/x")  # type: ignore[arg-type]
