"""The best so far is what the report would recommend, picked among comparable trials."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from orchestrator.analysis.findings.findings import findings
from orchestrator.analysis.tables.run_tables import RunTables
from orchestrator.driver.best_so_far import best_so_far
from orchestrator.storage.history import SweepHistory, read_history
from orchestrator.storage.tables import trials_of
from orchestrator.tracking.console.view import BestSoFar
from orchestrator.trial import Stage
from tests.orchestrator.tracking.journals import Scribe, events_of, make_trial

FAST, SLOW = {"samples_per_s": 9e4, "val_acc": 0.9}, {"samples_per_s": 1e4, "val_acc": 0.9}


def history_of(run_dir: Path, *results: dict[str, Any], **sweep: object) -> SweepHistory:
    """Return the history after trials 0, 1, ... (trial 0 is the baseline's) that ended as told."""
    scribe = Scribe(run_dir)
    scribe.sweep(**sweep)
    for number, changes in enumerate(results):
        trial = scribe.asked(make_trial(number))
        scribe.started(trial)
        scribe.finished(trial, **changes)
    return read_history(events_of(run_dir))


def recommended(best: BestSoFar) -> dict[str, Any]:
    assert best.leaders[0].title == "recommended"
    return dict(best.leaders[0].config)


def test_the_best_so_far_is_what_the_report_recommends(tmp_path: Path) -> None:
    scribe = Scribe(tmp_path)
    scribe.sweep()
    for number in range(8):
        scribe.whole(make_trial(number))
    for number in (0, 3):
        for repeat in (0, 1):
            scribe.whole(make_trial(number, stage=Stage.CONFIRM, repeat=repeat))
    history = read_history(events_of(tmp_path))
    tables = RunTables(trials=trials_of(history), sweep=history.sweep)
    assert recommended(best_so_far(history)) == findings(tables).config


def test_each_objective_has_its_leader_and_no_config_is_named_twice(tmp_path: Path) -> None:
    accurate = {"samples_per_s": 1e4, "val_acc": 0.99}
    careless = {"samples_per_s": 9e4, "val_acc": 0.5}
    history = history_of(tmp_path, {"metrics": accurate}, {"metrics": careless})
    best = best_so_far(history)
    titles = {leader.title: leader.config["num_workers"] for leader in best.leaders}
    assert titles == {"recommended": 0, "fastest": 3}
    assert best.leaders[1].figures["val_acc"] == 0.5
    assert best.num_front == 2
    assert best.baseline == pytest.approx(1e4)


def test_before_anything_has_run_nothing_leads(tmp_path: Path) -> None:
    best = best_so_far(history_of(tmp_path))
    assert (list(best.leaders), best.baseline) == ([], None)
