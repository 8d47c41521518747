"""Phases one after the other as one search."""

from dataclasses import replace

from orchestrator.kernel.search import WAIT, Proposal, Search
from orchestrator.search import Grid
from orchestrator.search.stages.sequence import Phase, Searching, Stages
from orchestrator.trial import Report, Stage, Trial, TrialResult, TrialState
from tests.orchestrator.search.playing import play, six_configs, smooth, trial_of

REPORT = Report(step=1, epoch=1, samples=1, elapsed_s=1.0, metrics={})


class Listening(Search):
    """A search of one config, which stops every trial and remembers the results it received."""

    def __init__(self, workers: int) -> None:
        config = {**six_configs().baseline, "workers": workers}
        self.received: list[int] = []
        self._left = [Proposal(config=config, budget=six_configs().budget)]

    def ask(self) -> Proposal | None:
        return self._left.pop() if self._left else None

    def tell(self, trial: Trial, result: TrialResult) -> None:
        self.received.append(trial.config["workers"])

    def should_stop(self, trial: Trial, report: Report) -> bool:
        return True


class OneRun(Phase):
    """A phase of one isolated run of the baseline, which wants all others isolated after it."""

    def __init__(self) -> None:
        self._has_asked = False

    def ask(self) -> Proposal | None:
        if self._has_asked:
            return None
        self._has_asked = self.ledger.isolated = True
        self.ledger.notes.append("isolated from here on")
        problem = self.ledger.problem
        return Proposal(config=problem.baseline, budget=problem.budget, isolated=True)


def test_a_phase_receives_only_its_trials() -> None:
    first, second = Listening(3), Listening(6)
    search = Stages(six_configs(), [Searching(first), OneRun(), Searching(second)])
    trials = play(search).trials

    assert (first.received, second.received) == ([3], [6])
    assert [search.should_stop(trial, REPORT) for trial in trials] == [True, False, True]


def test_after_a_phase_asked_for_it_all_trials_are_isolated() -> None:
    search = Stages(six_configs(), [OneRun(), Searching(Grid().start(six_configs()))])
    assert all(trial.isolated for trial in play(search, capacity=3).trials)


def test_isolated_trials_wait_for_those_that_run() -> None:
    search = Stages(six_configs(), [OneRun(), Searching(Listening(3))])
    run = search.ask()
    assert isinstance(run, Proposal)
    assert search.ask() is WAIT
    search.tell(trial_of(run), smooth(trial_of(run)))
    assert isinstance(search.ask(), Proposal)


def test_the_first_trials_of_a_search_are_so_many_that_can_run() -> None:
    def answer(trial: Trial) -> TrialResult:
        if trial.config["workers"] == 3:
            return TrialResult(state=TrialState.INFEASIBLE, reason="no")
        return smooth(trial)

    problem = six_configs()
    search = Stages(problem, [Searching(Grid().start(problem), num_trials=4)])
    trials = play(search, answer, capacity=2).trials

    assert sum(trial.config["workers"] != 3 for trial in trials) == 4


# -- a budget


def asked_for(search: Stages, most: int = 99) -> list[Trial]:
    """Return what a search asks for until it waits or ends, without any result."""
    found: list[Trial] = []
    while len(found) < most and isinstance(asked := search.ask(), Proposal):
        found.append(trial_of(asked))
    return found


def cut_after(num_trials: int, *, enumerates: bool) -> Stages:
    """Return a search that was cut once so many of its six trials have ended."""
    inner = Searching(Grid().start(six_configs()), enumerates=enumerates)
    search = Stages(six_configs(), [inner, OneRun()])
    for trial in asked_for(search, num_trials):
        search.tell(trial, smooth(trial))
    search.end_early()
    return search


def test_after_a_cut_configs_that_are_known_are_asked_for_all_the_same() -> None:
    assert len(asked_for(cut_after(4, enumerates=True))) == 2, "to have a row each"
    assert asked_for(cut_after(4, enumerates=False)) == []


def test_what_is_skipped_is_not_waited_for_until_a_new_process_runs_it() -> None:
    search = cut_after(4, enumerates=True)
    left = asked_for(search)
    for trial in left:
        search.skip(trial)
    assert search.ask() is None

    search.begin()
    search.go_on(None)
    (run,) = asked_for(search)
    assert run.isolated, "the phase that was cut comes after all"
    assert search.ask() is WAIT
    for trial in [*left, run]:
        search.tell(trial, smooth(trial))
    assert search.ask() is None


class TwoParts(Listening):
    """A search of one curve in two parts."""

    def __init__(self) -> None:
        super().__init__(3)
        whole = self._left[0]
        self._left.append(replace(whole, budget=replace(whole.budget, pause_after=1)))


def test_each_part_of_a_curve_that_was_skipped_is_waited_for() -> None:
    search = Stages(six_configs(), [OneRun(), Searching(TwoParts())])
    (run,) = asked_for(search, 1)
    search.tell(run, smooth(run))
    parts = []
    for _ in range(2):
        parts += asked_for(search, 1)
        search.skip(parts[-1])

    search.begin()
    assert search.ask() is WAIT
    search.tell(parts[0], smooth(parts[0]))
    assert search.ask() is WAIT
    search.tell(parts[1], smooth(parts[1]))
    assert search.ask() is None


def test_a_search_that_was_cut_resumes_where_it_was() -> None:
    search = cut_after(4, enumerates=False)
    search.go_on(None)
    assert len(asked_for(search, 2)) == 2


def test_an_extended_search_comes_before_the_later_phases() -> None:
    search = Stages(six_configs(), [Searching(Grid(trials=3).start(six_configs())), FirstAgain()])
    assert len(play(search).trials) == 3 + 1
    assert search.extends
    search.go_on(5)
    assert [trial.stage for trial in play(search).trials] == ["train", "train", "probe"]
    assert not Stages(six_configs(), [Searching(Listening(3))]).extends


class FirstAgain(Phase):
    """A phase of one probe, which it repeats if the search continues."""

    def __init__(self) -> None:
        self._repeat, self._has_asked = 0, False

    def ask(self) -> Proposal | None:
        if self._has_asked:
            return None
        self._has_asked, self._repeat = True, self._repeat + 1
        problem = self.ledger.problem
        return Proposal(
            config=problem.baseline, budget=problem.budget, stage=Stage.PROBE, repeat=self._repeat
        )

    def go_on(self, trials: int | None) -> None:
        self._has_asked = False
