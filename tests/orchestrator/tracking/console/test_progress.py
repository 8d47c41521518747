"""The progress of a sweep: trials by state, and the time that the rest may take."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from orchestrator.storage.history import read_history
from orchestrator.tracking.console.progress import Progress, phase_of, phase_of_trial, progress_of
from orchestrator.trial import Stage, Trial
from tests.orchestrator.tracking.journals import Scribe, events_of, make_record, make_trial


@pytest.fixture
def scribe(tmp_path: Path) -> Scribe:
    return Scribe(tmp_path / "run")


def progress(scribe: Scribe, most_running: int = 1) -> Progress:
    history = read_history(events_of(scribe.run_dir))
    assert history.last_at is not None
    return progress_of(history, most_running=most_running, now=history.last_at)


@pytest.mark.parametrize(
    ("planned", "known"), [(4, (1, 4, 4.5)), (None, (None, None, None)), (2, (0, 3, None))]
)
def test_the_rest_is_known_where_it_is_planned(
    scribe: Scribe, planned: int | None, known: tuple[int | float | None, ...]
) -> None:
    scribe.sweep(num_planned=planned)
    for number in range(3):
        scribe.whole(make_trial(number))
    now = progress(scribe)
    left_s = None if now.left_s is None else 3 * now.left_s
    assert (now.num_waiting, now.num_total, left_s) == known


@pytest.mark.parametrize(("most_running", "left_s"), [(1, 4.5), (3, 1.5), (9, 0.5)])
def test_the_rest_takes_as_long_as_the_trials_so_far(
    scribe: Scribe, most_running: int, left_s: float
) -> None:
    scribe.sweep(num_planned=4)
    scribe.whole(make_trial(0))  # of 1.5 s
    assert progress(scribe, most_running).left_s == pytest.approx(left_s)


def test_a_trial_takes_as_long_as_it_keeps_others_from_its_cores(scribe: Scribe) -> None:
    scribe.sweep(num_planned=2)
    scribe.whole(make_trial(0))
    events = events_of(scribe.run_dir)
    # 1.5 s of training, then its loader and its model alone.
    events[-1] = replace(events[-1], at=events[-1].at + 4.0)
    now = progress_of(read_history(events), most_running=1, now=events[-1].at)
    assert now.left_s == pytest.approx(4.0, abs=0.5)


# -- the phase


def phase(scribe: Scribe) -> str:
    history = read_history(events_of(scribe.run_dir))
    return phase_of(progress_of(history, most_running=1, now=0.0))


def test_the_time_between_trials_has_a_name(scribe: Scribe) -> None:
    scribe.sweep(num_planned=2)
    assert phase(scribe) == "starting the next trial"
    scribe.started(scribe.asked(make_trial(0)))
    assert phase(scribe) == "search"
    scribe.finished(make_trial(0))
    scribe.whole(make_trial(1))
    assert phase(scribe) == "analysing: which configs come next"
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
