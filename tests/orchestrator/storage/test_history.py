"""The history of a sweep, event by event: trials by their last start, and the sweep itself."""

import random
from collections import Counter
from collections.abc import Iterator
from statistics import fmean

import pytest

from orchestrator.kernel.events import (
    Asked,
    Event,
    Finished,
    Opened,
    Reported,
    Resumed,
    Started,
    Waiting,
)
from orchestrator.storage.files import RunFile
from orchestrator.storage.history import SweepHistory, read_history
from orchestrator.trial import Report, TrialResult, TrialState
from tests.orchestrator.helpers.journalled import replace_in
from tests.orchestrator.tracking.journals import Scribe, events_of, make_record, make_trial


def history(scribe: Scribe) -> SweepHistory:
    return read_history(events_of(scribe.run_dir))


def test_a_history_begins_with_the_sweep(scribe: Scribe) -> None:
    assert not SweepHistory().has_begun
    assert history(scribe).has_begun
    assert history(scribe).sweep.changes(make_record(), "question") == {}


def test_a_resumption_keeps_the_key_of_the_run(scribe: Scribe) -> None:
    key = history(scribe).key
    scribe.ended(130)
    scribe.resumed()
    assert history(scribe).key == key
    assert "--resume" in history(scribe).sweep.command_line


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


def test_a_trial_that_a_later_one_shows_to_be_infeasible_keeps_its_end(scribe: Scribe) -> None:
    trial = scribe.whole(make_trial(0))
    before = history(scribe).trials[trial.id]
    result = TrialResult(state=TrialState.INFEASIBLE, reason="its epoch has 200 samples")
    scribe.record("judged", trial_id=trial.id, result=result)
    after = history(scribe)
    assert +after.states == {TrialState.INFEASIBLE: 1}
    assert after.trials[trial.id].row()["reason"] == "its epoch has 200 samples"
    assert after.trials[trial.id].finished_at == before.finished_at


def test_events_of_unknown_kinds_are_passed_over(scribe: Scribe) -> None:
    before = history(scribe).trials
    replace_in(scribe.run_dir / RunFile.JOURNAL)
    with (scribe.run_dir / RunFile.JOURNAL).open("a") as file:
        file.write('{"at": 1.0, "event": "something new", "trial_id": "of a later version"}\n')
    assert history(scribe).trials == before


def made_events(seed: int) -> Iterator[Event]:
    """Yield what could be in a journal, and some of what could not."""
    draw, at = random.Random(seed), 0.0
    yield Opened(at=at, sweep=make_record().to_json())
    trials = [make_trial(number) for number in range(6)]
    for trial in trials:
        yield Asked(at=at, trial=trial)
    for _ in range(200):
        at += draw.random()
        about = draw.choice(trials).id
        match draw.choice(("started", "report", "report", "finished", "waiting", "resumed")):
            case "started":
                restored = draw.choice((0, 1))
                yield Started(at=at, trial_id=about, node="n", cores=1, restored_epochs=restored)
            case "report":
                epoch = draw.randint(1, 3)
                figures = {"val_acc": draw.random(), f"of_{epoch}": 1.0}
                report = Report(step=1, epoch=epoch, samples=1, elapsed_s=at, metrics=figures)
                yield Reported(at=at, trial_id=about, report=report)
            case "finished":
                state = draw.choice(list(TrialState))
                result = TrialResult(state=state, wall_s=draw.choice((None, draw.random())))
                yield Finished(at=at, trial_id=about, result=result)
            case "waiting":
                yield Waiting(at=at, trial_id=about, seconds=1.0, what="cores")
            case "resumed" if draw.random() < 0.1:
                yield Resumed(at=at, sweep=make_record().to_json())


@pytest.mark.parametrize("seed", range(5))
def test_what_is_counted_as_events_come_is_what_all_trials_amount_to(seed: int) -> None:
    history = SweepHistory()
    for event in made_events(seed):
        history.apply(event)
        trials = history.trials.values()
        concluded = [trial for trial in trials if trial.concluded is not None]
        states = Counter(trial.concluded.state for trial in concluded if trial.concluded)
        assert +history.states == states
        assert history.num_concluded == len(concluded)
        assert set(history.running) == {trial.trial.id for trial in trials if trial.running}
        assert set(history.held_up) == {trial.trial.id for trial in trials if trial.waits_for}
        taken = [trial.taken_s for trial in concluded if trial.taken_s is not None]
        assert history.mean_taken_s == (pytest.approx(fmean(taken)) if taken else None)
        for trial in trials:
            latest: dict[str, float] = {}
            for _, report in trial.reports:
                latest |= report.metrics
            latest |= {} if trial.concluded is None else trial.concluded.metrics
            assert trial.figures() == latest
