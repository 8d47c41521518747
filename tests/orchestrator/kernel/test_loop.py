"""The control loop between a scripted search and a test that plays the executor."""

import math
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from orchestrator import Sweep
from orchestrator.driver.budgets import Budgets
from orchestrator.driver.planning.plan import make_plan
from orchestrator.driver.planning.spending import Spending
from orchestrator.driver.trackers import StepTimes
from orchestrator.errors import RunDirectoryError
from orchestrator.kernel.events import (
    Continued,
    Ended,
    Event,
    Finished,
    Noted,
    Reported,
    Started,
    Timed,
)
from orchestrator.kernel.executor import Launch
from orchestrator.kernel.journal import (
    MOST_REPORTS,
    THINNED,
    Journal,
    read_journal,
    read_steps,
)
from orchestrator.kernel.loop import TICK_S, ControlLoop
from orchestrator.kernel.parts import Fold
from orchestrator.kernel.search import WAIT, Pause, Proposal, Search
from orchestrator.trial import Budget, Report, Trial, TrialResult, TrialState
from tests.orchestrator.driver.plans import made_factory
from tests.orchestrator.helpers.journalled import lines_of
from tests.orchestrator.search.playing import MACHINE, SPACE, TRAINABLE, completed

REPORT = Report(
    step=1, epoch=1, samples=1, elapsed_s=1.0, metrics={}, blocks=((0, 0, 8, 80, 0.5, 0),)
)


def proposal(workers: int, **fields: object) -> Proposal:
    config = {"lr": 0.1, "workers": workers, "prefetch": 2, "batch": 100}
    return replace(Proposal(config=config, budget=Budget(epochs=1)), **fields)  # type: ignore[arg-type]


class Script(Search):
    """A search with fixed answers, which stops trials from their second report on."""

    def __init__(self, *answers: Proposal | Pause, notes: Sequence[str] = ()) -> None:
        self._answers = list(answers)
        self._notes = list(notes)
        self._num_reports = 0
        self.received: list[tuple[int, TrialState]] = []
        self.revised: list[TrialState] = []

    def ask(self) -> Proposal | Pause | None:
        return self._answers.pop(0) if self._answers else None

    def tell(self, trial: Trial, result: TrialResult) -> None:
        self.received.append((trial.config["workers"], result.state))

    def revise(self, trial_id: str, result: TrialResult) -> None:
        self.revised.append(result.state)

    def should_stop(self, trial: Trial, report: Report) -> bool:
        self._num_reports += 1
        return self._num_reports > 1

    def notes(self) -> list[str]:
        notes, self._notes = self._notes, []
        return notes


class Loops:
    """Makes control loops on one journal."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.path = folder / "journal.jsonl"
        self.journals: list[Journal] = []
        self.step_times: list[StepTimes] = []

    def __call__(
        self, search: Script, *, time_budget_s: float | None = None, trackers: Sequence[Fold] = ()
    ) -> ControlLoop:
        asked = Sweep(TRAINABLE, question="?", space=SPACE)
        factory = made_factory(self._folder, asked, MACHINE)
        self.journals.append(Journal(self.path))
        plan = make_plan(asked, MACHINE, num_cores=1)
        self.step_times.append(StepTimes(self.journals[-1]))
        folds = [self.step_times[-1], *trackers]
        gate = Spending(Budgets(time_s=time_budget_s), plan, self.journals[-1].now)
        return ControlLoop(factory, search, self.journals[-1], folds, gate)

    @property
    def events(self) -> list[Event]:
        return list(read_journal(self.path))

    @property
    def kinds(self) -> list[str]:
        return [str(line["event"]) for line in lines_of(self.path)]


@pytest.fixture
def loops(tmp_path: Path) -> Iterator[Loops]:
    made = Loops(tmp_path)
    yield made
    for journal in made.journals:
        journal.close()
    for fold in made.step_times:
        fold.apply(Ended(exit_code=0))


def launched(loop: ControlLoop) -> Launch:
    launch = loop.next_launch()
    assert isinstance(launch, Launch)
    return launch


def test_what_the_search_asks_for_runs_and_it_gets_the_result(loops: Loops) -> None:
    search = Script(proposal(0))
    loop = loops(search)

    trial = launched(loop).trial
    loop.started(Started(trial_id=trial.id, node="here", cores=1))
    loop.finished(trial, completed(val_acc=0.5))

    assert loop.next_launch() is None
    assert search.received == [(0, TrialState.COMPLETED)]
    assert loops.kinds == ["asked", "started", "finished"]


@pytest.mark.parametrize(
    ("figures", "reason"),
    [
        ({"own_figure": 1.0}, "reported none of what the sweep asks for: "),
        ({"val_acc": math.nan}, "reported val_acc as nan, which counts as not measured: "),
    ],
)
def test_a_training_that_reports_nothing_asked_for_has_failed(
    loops: Loops, figures: Mapping[str, float], reason: str
) -> None:
    search = Script(proposal(0))
    loop = loops(search)
    trial = launched(loop).trial
    loop.started(Started(trial_id=trial.id, node="here", cores=1))
    loop.finished(trial, completed(**figures))
    assert search.received == [(0, TrialState.FAILED)]
    [finished] = [event for event in loops.events if isinstance(event, Finished)]
    message = finished.result.reason
    assert reason in message
    if "none of what" in reason:
        assert message.endswith(
            "; run.batches measures samples_per_s, which objectives=[...] may leave out"
        )


def test_the_search_decides_after_each_report_whether_the_trial_stops(loops: Loops) -> None:
    loop = loops(Script(proposal(0)))
    trial = launched(loop).trial
    assert [loop.reported(trial, REPORT) for _ in range(2)] == [False, True]


def test_of_a_trial_that_reports_all_the_time_one_report_each_half_second_is_kept(
    loops: Loops,
) -> None:
    loop = loops(Script(proposal(0)))
    trial = launched(loop).trial
    for number in range(MOST_REPORTS + 1000):  # one each millisecond
        loop.reported(trial, replace(REPORT, step=number, elapsed_s=number / 1000))
    loop.reported(trial, replace(REPORT, step=10**4, epoch=2, elapsed_s=1.3))
    loop.finished(trial, completed(val_acc=0.5))
    kept = [event.report for event in loops.events if isinstance(event, Reported)]
    assert len(kept) in (202, 203), "the first ones, one or two of a second, that of an epoch"
    assert kept[-1].epoch == 2
    notes = [event.text for event in loops.events if isinstance(event, Noted)]
    assert notes == [THINNED]
    timed = list(read_steps(loops.path.with_name("steps.jsonl")))
    blocks = sum(len(event.blocks) for event in timed if isinstance(event, Timed))
    assert blocks == 1201, "times of steps are all kept"


def test_a_trial_asked_for_twice_runs_once_and_reports_twice(loops: Loops) -> None:
    search = Script(proposal(0), proposal(0), WAIT, proposal(0))
    loop = loops(search)

    trial = launched(loop).trial
    assert loop.next_launch() is WAIT
    assert search.received == [], "it has no result yet"
    loop.finished(trial, completed(val_acc=0.5))
    assert len(search.received) == 2

    assert loop.next_launch() is None
    assert len(search.received) == 3
    assert loops.kinds == ["asked", "merged", "finished", "merged"]


def test_interleaved_proposals_are_one_launch(loops: Loops) -> None:
    first, second = (proposal(workers, interleaved=True) for workers in (0, 3))
    loop = loops(Script(first, second, proposal(6)))

    launch = launched(loop)
    assert [trial.config["workers"] for trial in launch.trials] == [0, 3]
    assert all(each.in_slices for each in launch.each())
    assert not any(each.rerun for each in launch.each()), "a second run is alone"
    assert launched(loop).trials[0].config["workers"] == 6


def test_after_the_time_budget_trials_have_rows_and_the_search_no_results(loops: Loops) -> None:
    search = Script(proposal(0))
    loop = loops(search, time_budget_s=0.0)

    assert loop.next_launch() is None
    assert [result.state for result in loop.results.values()] == [TrialState.NOT_RUN]
    assert search.received == [], "a resumed sweep runs it"


def test_notes_of_search_and_executor_are_journalled_once(loops: Loops) -> None:
    loop = loops(Script(notes=["of the search"]))
    loop.next_launch()
    for _ in range(2):
        loop.note("of the executor")
    texts = [event.text for event in loops.events if isinstance(event, Noted)]
    assert texts == ["of the search", "of the executor"]


def test_a_resumed_sweep_runs_what_has_no_result_and_asks_on(loops: Loops) -> None:
    answers = (proposal(0), proposal(3), proposal(6))
    before = loops(Script(*answers))
    done, lost = launched(before).trial, launched(before).trial
    before.finished(done, completed(val_acc=0.5))
    num_events = len(loops.events)

    search = Script(*answers)
    loop = loops(search)
    loop.restore(loops.events)

    assert len(loops.events) == num_events, "replaying writes nothing"
    assert search.received == [(0, TrialState.COMPLETED)]
    assert launched(loop).trial == lost
    assert launched(loop).trial.config["workers"] == 6


@pytest.mark.parametrize("has_died", [True, False])
def test_a_trial_that_ran_when_the_driver_died_twice_is_set_aside(
    loops: Loops, *, has_died: bool
) -> None:
    received = []
    for _ in range(3):
        search = Script(proposal(0), proposal(3))
        loop, past = loops(search), loops.events
        loop.restore(past)
        loop.open({}, past=past)
        loop.started(Started(trial_id=launched(loop).trial.id, node="here", cores=1))
        received = search.received
        if not has_died:
            loops.journals[-1].append(Ended(exit_code=130))
    assert received == ([(0, TrialState.FAILED)] if has_died else [])
    reasons = [event.result.reason for event in loops.events if isinstance(event, Finished)]
    assert reasons == ["it was running when the driver died, 2 times: it is set aside"] * has_died


def test_a_trial_is_infeasible_once_a_later_one_shows_that_its_systems_knob_changed_the_data(
    loops: Loops,
) -> None:
    """Two workers read each sample of an unsharded set twice; the batch changes nothing."""
    larger = {**proposal(0).config, "batch": 1000}
    answers = (
        proposal(0),
        proposal(3, config={**larger, "workers": 3}),
        proposal(0, config=larger),
    )
    search = Script(*answers)
    loop = loops(search)
    for samples, revised in ((100, []), (200, []), (100, [TrialState.INFEASIBLE])):
        trial = launched(loop).trial
        loop.started(Started(trial_id=trial.id, node="here", cores=1))
        loop.reported(trial, replace(REPORT, samples=samples))
        loop.finished(trial, completed(val_acc=0.5))
        assert search.revised == revised
    assert {state for _, state in search.received} == {TrialState.COMPLETED}
    assert loops.kinds[-2:] == ["judged", "note"]
    resumed = Script(*answers)
    loop = loops(resumed)
    loop.restore(loops.events)
    assert (resumed.received, resumed.revised) == (search.received, search.revised)
    states = [result.state for result in loop.results.values()]
    assert states == [TrialState.COMPLETED, TrialState.INFEASIBLE, TrialState.COMPLETED]
    assert loop.next_launch() is None


def test_a_trial_that_was_not_run_in_time_runs_in_the_resumed_sweep(loops: Loops) -> None:
    loops(Script(proposal(0)), time_budget_s=0.0).next_launch()
    loop = loops(Script(proposal(0)))
    loop.restore(loops.events)
    loop.record(Continued())  # it has no time budget any more
    assert launched(loop).trial.config["workers"] == 0


def test_rounds_that_were_not_run_in_time_are_a_launch_each(loops: Loops) -> None:
    rounds = [
        proposal(workers, repeat=repeat, interleaved=True)
        for repeat in (1, 2)
        for workers in (0, 3)
    ]
    loops(Script(*rounds), time_budget_s=0.0).next_launch()
    loop = loops(Script(*rounds))
    loop.restore(loops.events)
    loop.record(Continued())
    for repeat in (1, 2):
        trials = launched(loop).trials
        assert [(t.config["workers"], t.repeat) for t in trials] == [(0, repeat), (3, repeat)]


@pytest.mark.parametrize("changed", [{"isolated": True}, {"repeat": 1}, {"interleaved": True}])
def test_a_journal_of_another_search_is_refused(loops: Loops, changed: dict[str, object]) -> None:
    loops(Script(proposal(0))).next_launch()
    loop = loops(Script(proposal(0, **changed)))
    with pytest.raises(RunDirectoryError, match="no longer asks for what it asked for"):
        loop.restore(loops.events)


class Ticked(Fold):
    """A fold that counts its ticks."""

    num_ticks = 0

    def tick(self) -> None:
        self.num_ticks += 1


def test_trackers_do_not_tick_as_often_as_an_executor_comes_round(
    loops: Loops, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 10.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    tracker = Ticked()
    loop = loops(Script(), trackers=[tracker])
    for _ in range(8):
        loop.tick()
        now += TICK_S / 4
    assert tracker.num_ticks == 2
    loop.interrupt()
    loop.tick()
    assert tracker.num_ticks == 3, "an interrupt is told at once"
