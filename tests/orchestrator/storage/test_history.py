"""The history of a sweep, event by event: trials by their last start, and the sweep itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from orchestrator.errors import RunDirectoryError
from orchestrator.storage.history import SweepHistory, read_history
from orchestrator.trial import TrialState
from tests.orchestrator.tracking.journals import Scribe, events_of, make_record, make_trial


@pytest.fixture
def scribe(tmp_path: Path) -> Scribe:
    scribe = Scribe(tmp_path / "run")
    scribe.sweep()
    return scribe


def history(scribe: Scribe) -> SweepHistory:
    return read_history(events_of(scribe.run_dir))


def test_a_history_begins_with_the_sweep(scribe: Scribe) -> None:
    assert not SweepHistory().has_begun
    assert history(scribe).has_begun
    assert history(scribe).sweep.changes(make_record(), "question") == {}


def test_a_sweep_that_is_none_is_refused() -> None:
    event = {"at": 1.0, "event": "sweep", "sweep": {"format": 2}}
    with pytest.raises(RunDirectoryError, match="the journal's event 'sweep': does not describe"):
        read_history([event])


def test_a_resumption_keeps_the_key_of_the_run(scribe: Scribe) -> None:
    key = history(scribe).key
    scribe.ended(130)
    assert history(scribe).exit_code == 130
    scribe.resumed()
    resumed = history(scribe)
    assert (resumed.key, resumed.exit_code) == (key, None)
    assert "--resume" in resumed.sweep.command_line


def test_a_trial_that_ran_when_the_driver_died_is_as_if_never_started(scribe: Scribe) -> None:
    trial = scribe.asked(make_trial(0))
    scribe.started(trial)
    scribe.reported(trial, 1)
    assert history(scribe).trials[trial.id].running
    scribe.resumed()
    cut_short = history(scribe).trials[trial.id]
    assert not cut_short.begun
    assert cut_short.reports == []


def test_a_start_from_a_checkpoint_keeps_the_epochs_that_it_restored(scribe: Scribe) -> None:
    trial = scribe.asked(make_trial(0))
    scribe.started(trial)
    for epoch in (1, 2, 3):
        scribe.reported(trial, epoch)
    scribe.record("started", trial_id=trial.id, node="b", cores=1, restored_epochs=2)
    again = history(scribe).trials[trial.id]
    assert [report.epoch for _, report in again.reports] == [1, 2]
    assert (again.node, again.cores) == ("b", 1)


def test_a_trial_that_was_not_run_keeps_its_result_until_it_has_run(scribe: Scribe) -> None:
    trial = scribe.whole(make_trial(0), TrialState.NOT_RUN)
    scribe.resumed()
    scribe.started(trial)
    running = history(scribe).trials[trial.id]
    assert running.result is not None
    assert running.concluded is None


def test_events_of_unknown_kinds_are_passed_over(scribe: Scribe) -> None:
    before = history(scribe).trials
    scribe.record("something new", trial_id="of a later version")
    assert history(scribe).trials == before


def test_trials_that_have_ended_are_counted_as_they_end(scribe: Scribe) -> None:
    def agrees() -> int:
        known = history(scribe)
        assert known.num_concluded == sum(t.concluded is not None for t in known.trials.values())
        return known.num_concluded

    scribe.whole(make_trial(0))
    assert agrees() == 1
    scribe.whole(make_trial(1), TrialState.NOT_RUN)
    assert agrees() == 2
    scribe.started(make_trial(1))
    assert agrees() == 1, "it runs after all"
    scribe.resumed()
    assert agrees() == 2, "it was cut short, and is as before"
