"""A budget's end, what the search learns of it, and that a resumed run repeats it."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from orchestrator import Sweep
from orchestrator.driver.budgets import Budgets
from orchestrator.driver.planning.plan import make_plan
from orchestrator.driver.planning.spending import Spending
from orchestrator.kernel.events import Cut, Event, Noted, Started
from orchestrator.kernel.executor import Launch
from orchestrator.kernel.journal import Journal, read_journal
from orchestrator.kernel.loop import ControlLoop
from orchestrator.kernel.search import WAIT
from orchestrator.search import Grid, Optuna
from orchestrator.search.stages.confirm import Confirming
from orchestrator.search.stages.sequence import Searching, Stages
from orchestrator.search.stopping import Asha
from orchestrator.sweep.rigor import Rigor
from orchestrator.trial import Stage, Trial, TrialResult, TrialState
from tests.orchestrator.driver.plans import made_factory
from tests.orchestrator.search.playing import MACHINE, SPACE, TRAINABLE, completed, six_configs
from tests.orchestrator.search.stages.test_confirm import Deciding
from tests.orchestrator.tracking.journals import make_record

TRIAL_S = 10.0
ASKED = Sweep(TRAINABLE, question="?", space=SPACE)
BEST = {"lr": 0.1, "workers": 6, "prefetch": 2, "batch": 1000}


class Run:
    """A run of trials of ten seconds on one core, one after the other, by a simulated clock."""

    def __init__(
        self,
        folder: Path,
        budgets: Budgets,
        *,
        search: Grid | Optuna | None = None,
        stopping: Asha | None = None,
        last: int = 2,
        runs: int = 0,
        trials: int | None = None,
    ) -> None:
        self.path = folder / "journal.jsonl"
        past = list(read_journal(self.path)) if self.path.exists() else []
        self.at = past[-1].at + 1000.0 if past else 0.0
        problem = six_configs(epochs=3 if stopping else 1)
        inner = (search or Grid()).start(problem)
        searching = Searching(
            inner,
            enumerates=not isinstance(search, Optuna),
            ending=stopping.start(problem) if stopping else None,
        )
        analyses = Rigor(confirm=2, max_confirm=last).analyses
        confirming = Confirming(analyses=analyses, judge=Deciding([BEST], runs))
        stages = Stages(problem, [searching, confirming])
        rigor = Rigor(confirm=2, finalists=1)
        asked = replace(ASKED, epochs=problem.budget.epochs, rigor=rigor)
        plan = replace(make_plan(asked, MACHINE, num_cores=1), num_able=6)
        journal = Journal(self.path, now=lambda: self.at)
        self.limits = Spending(budgets, plan, journal.now)
        made = made_factory(folder, ASKED, MACHINE)
        self.loop = ControlLoop(made, stages, journal, gate=self.limits)
        self.loop.restore(past)
        self.loop.open(make_record().to_json(), past=past, trials=trials)

    def to_the_end(self, most: int = 99, *, is_over: bool = True) -> list[tuple[Stage, int]]:
        """Run at most so many trials; return the stage and the workers of each."""
        ran: list[tuple[Stage, int]] = []
        while len(ran) < most and isinstance(launch := self.loop.next_launch(), Launch):
            trial = launch.trial
            self.loop.started(Started(trial_id=trial.id, node="here", cores=1))
            self.at += TRIAL_S
            self.loop.finished(trial, _result(trial))
            ran.append((trial.stage, trial.config["workers"]))
        if is_over:
            self.loop.close(0)
        return ran

    @property
    def events(self) -> list[Event]:
        return list(read_journal(self.path))

    @property
    def cuts(self) -> list[str]:
        return [event.part for event in self.events if isinstance(event, Cut)]


def _result(trial: Trial) -> TrialResult:
    return completed(samples_per_s=1.0 + trial.config["workers"])


def hours(trials: float) -> Budgets:
    """Return core-hours for so many trials."""
    return Budgets(core_hours=trials * TRIAL_S / 3600)


def counted(ran: Sequence[tuple[Stage, int]]) -> Mapping[Stage, int]:
    stages = [stage for stage, _ in ran]
    return {stage: stages.count(stage) for stage in (Stage.TRAIN, Stage.CONFIRM)}


ENOUGH = 6 + 5
"""Six configs; two rounds of two, and the test run."""


def test_a_budget_that_suffices_cuts_nothing(tmp_path: Path) -> None:
    run = Run(tmp_path, hours(6 + 1.1 * 5 + 0.01))
    assert counted(run.to_the_end()) == {Stage.TRAIN: 6, Stage.CONFIRM: 5}
    assert run.cuts == []


def test_the_search_is_cut_so_that_the_confirm_stage_fits(tmp_path: Path) -> None:
    run = Run(tmp_path, hours(9.9))
    assert counted(run.to_the_end()) == {Stage.TRAIN: 4, Stage.CONFIRM: 5}
    states = [result.state for result in run.loop.results.values()]
    assert states.count(TrialState.NOT_RUN) == 2, "a row for each config"
    (text,) = run.limits.cuts
    assert text.endswith("ended the search: 2 configs not tried")
    assert [e.text for e in run.events if isinstance(e, Noted)] == [text]


def test_a_search_that_chooses_is_asked_no_further(tmp_path: Path) -> None:
    run = Run(tmp_path, hours(8.9), search=Optuna(6))
    assert counted(run.to_the_end()) == {Stage.TRAIN: 3, Stage.CONFIRM: 5}
    states = [result.state for result in run.loop.results.values()]
    assert states.count(TrialState.NOT_RUN) == 1, "the one that there was no room for"
    assert "3 configs not tried" in run.limits.cuts[0]


def test_a_budget_without_room_for_both_is_the_search_s(tmp_path: Path) -> None:
    run = Run(tmp_path, hours(5.5))
    assert counted(run.to_the_end()) == {Stage.TRAIN: 5, Stage.CONFIRM: 0}
    assert run.cuts == ["search", "confirm"]
    assert "no room for a confirm stage, so no speed-up is claimed" in run.limits.cuts[1]


def test_later_rounds_are_cut_and_the_test_run_is_not(tmp_path: Path) -> None:
    run = Run(tmp_path, hours(6 + 4 + 2 + 1.5), last=13, runs=99)
    ran = run.to_the_end()
    assert counted(ran) == {Stage.TRAIN: 6, Stage.CONFIRM: 4 + 2 + 1}
    assert run.cuts == ["confirm"]
    assert run.limits.cuts[0].endswith("ended the confirm stage: its later runs were left out")


@pytest.mark.parametrize("stopping", [None, Asha("samples_per_s", grace=1, factor=2)])
@pytest.mark.parametrize("most", range(10))
def test_a_run_that_breaks_off_anywhere_spends_no_more(
    tmp_path: Path, most: int, stopping: Asha | None
) -> None:
    (tmp_path / "whole").mkdir()
    whole = Run(tmp_path / "whole", hours(9.9), stopping=stopping)
    expected = whole.to_the_end()
    first = Run(tmp_path, hours(9.9), stopping=stopping).to_the_end(most)
    second = Run(tmp_path, hours(9.9), stopping=stopping)
    assert first + second.to_the_end() == expected
    assert second.cuts == whole.cuts, "decided once"


@pytest.mark.parametrize(("ran_s", "runs"), [(1.0, True), (9.0, False)])
def test_what_ran_when_the_search_was_cut_is_run_again_while_there_is_room(
    tmp_path: Path, ran_s: float, *, runs: bool
) -> None:
    first = Run(tmp_path, hours(9.9))
    first.to_the_end(3, is_over=False)
    launch = first.loop.next_launch()
    assert isinstance(launch, Launch)
    first.loop.started(Started(trial_id=launch.trial.id, node="here", cores=1))
    first.at += ran_s
    assert first.loop.next_launch() is WAIT
    assert first.cuts == ["search"]
    first.loop.close(130)

    ran = Run(tmp_path, hours(9.9)).to_the_end()
    assert counted(ran) == {Stage.TRAIN: int(runs), Stage.CONFIRM: 5}
    assert Run(tmp_path, hours(9.9)).to_the_end() == []


def test_a_time_budget_counts_the_processes_and_not_the_nights_between(tmp_path: Path) -> None:
    budgets = Budgets(time_s=9.9 * TRIAL_S)
    first = Run(tmp_path, budgets).to_the_end(3)
    second = Run(tmp_path, budgets).to_the_end()
    assert counted(first + second) == {Stage.TRAIN: 4, Stage.CONFIRM: 5}


def test_with_a_larger_budget_the_search_resumes_where_it_was_cut(tmp_path: Path) -> None:
    first = Run(tmp_path, hours(9.9)).to_the_end()
    again = Run(tmp_path, hours(9.9))
    assert again.limits.cuts
    assert again.to_the_end() == []

    more = Run(tmp_path, hours(100))
    rest = more.to_the_end()
    # The finalists are the same, and confirmed.
    assert counted(rest) == {Stage.TRAIN: 2, Stage.CONFIRM: 0}
    assert more.limits.cuts == ()
    assert all(result.state is TrialState.COMPLETED for result in more.loop.results.values())
    assert len(first + rest) == ENOUGH

    last = Run(tmp_path, hours(100))
    assert last.to_the_end() == [], "all of it is replayed"


def test_an_extended_search_keeps_what_it_has(tmp_path: Path) -> None:
    first = Run(tmp_path, Budgets(), search=Grid(trials=3)).to_the_end()
    rest = Run(tmp_path, Budgets(), search=Grid(trials=3), trials=5).to_the_end()
    assert counted(first) == {Stage.TRAIN: 3, Stage.CONFIRM: 5}
    assert counted(rest) == {Stage.TRAIN: 2, Stage.CONFIRM: 0}
    assert Run(tmp_path, Budgets(), search=Grid(trials=3)).to_the_end() == []
