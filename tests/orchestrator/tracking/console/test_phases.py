"""Whatever a sweep does at a moment has a name."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from orchestrator.storage.history import SweepHistory, read_history
from orchestrator.tracking.console.phases import phase_of, phase_of_trial
from orchestrator.tracking.console.progress import progress_of
from orchestrator.trial import Stage, Trial
from tests.orchestrator.tracking.journals import Scribe, events_of, make_record, make_trial


def phase(scribe: Scribe) -> str:
    history: SweepHistory = read_history(events_of(scribe.run_dir))
    return phase_of(history, progress_of(history, most_running=1, now=0.0))


def test_the_time_between_trials_has_a_name(tmp_path: Path) -> None:
    scribe = Scribe(tmp_path)
    scribe.sweep(num_planned=2)
    assert phase(scribe) == "starting the first trial"
    scribe.asked(make_trial(0))
    assert phase(scribe) == "starting the first trial"
    scribe.started(make_trial(0))
    assert phase(scribe) == "search"
    scribe.finished(make_trial(0))
    assert phase(scribe) == "starting the next trial"
    scribe.whole(make_trial(1))
    assert phase(scribe) == "analysing: which configs to run next, if any"
    confirming = scribe.asked(make_trial(0, stage=Stage.CONFIRM))
    scribe.record("waiting", trial_id=confirming.id, seconds=3.0, what="2 cores")
    assert phase(scribe) == "confirm stage"


@pytest.mark.parametrize(
    ("trial", "search", "words"),
    [
        (make_trial(0), "Grid()", "search"),
        (make_trial(0, repeat=1), "Grid()", "repeats of the best"),
        (make_trial(0, stage=Stage.PROBE), "Grid()", "interference check"),
        (make_trial(0, stage=Stage.PROBE), "Factored()", "probes of speed"),
        (make_trial(0), "Factored()", "learning curves"),
        (make_trial(0, repeat=1), "Factored()", "further seeds"),
        (make_trial(0, stage=Stage.CONFIRM, repeat=2), "Grid()", "confirm stage"),
        (
            replace(make_trial(0, stage=Stage.CONFIRM), evaluate_test=True),
            "Grid()",
            "test run of the recommended config",
        ),
    ],
)
def test_a_trial_is_for_something(trial: Trial, search: str, words: str) -> None:
    assert phase_of_trial(trial, make_record(search=search)) == words
