"""A confirm stage in proportion to its search."""

from __future__ import annotations

from dataclasses import replace

from orchestrator.kernel.search import Proposal
from orchestrator.search.stages.allowance import Allowance
from orchestrator.search.stages.sequence import Ledger
from orchestrator.trial import Budget, Stage, TrialResult, TrialState
from tests.orchestrator.search.playing import completed, problem, trial_of

BUDGET = Budget(epochs=9)
SHORT = replace(BUDGET, steps=96, evaluated=False)
ONE, OTHER = {"lr": 0.1}, {"lr": 0.2}


def ledger(*entries: tuple[Stage, Budget, float], cores: int | None = 2) -> Ledger:
    """A ledger of trials of ONE that took so many seconds."""
    found = Ledger(problem=problem())
    for stage, budget, wall_s in entries:
        trial = trial_of(Proposal(config=ONE, budget=budget, stage=stage))
        state = TrialState.STOPPED if budget.pause_after else TrialState.COMPLETED
        result: TrialResult = replace(completed(), state=state, wall_s=wall_s, cores=cores)
        found.results.append((trial, result))
    return found


def test_short_runs_are_taken_to_last_as_long_as_probes_did() -> None:
    spent = ledger((Stage.PROBE, SHORT, 2.0), (Stage.TRAIN, BUDGET, 8.0))
    assert Allowance(0.4).has_room(spent, short=[ONE, OTHER])
    assert not Allowance(0.4).has_room(spent, short=[ONE, OTHER, ONE])


def test_what_confirm_runs_took_is_counted_and_goes_before_probes() -> None:
    spent = ledger((Stage.PROBE, SHORT, 4.0), (Stage.TRAIN, BUDGET, 6.0))
    spent.results += ledger((Stage.CONFIRM, SHORT, 1.5)).results
    assert Allowance(0.4).has_room(spent, short=[ONE])
    assert not Allowance(0.4).has_room(spent, short=[ONE, ONE])


def test_a_whole_training_counts_all_parts_of_its_curve() -> None:
    first, second = replace(BUDGET, pause_after=1), replace(BUDGET, pause_after=3)
    spent = ledger(
        (Stage.TRAIN, first, 1.0), (Stage.TRAIN, second, 2.0), (Stage.TRAIN, BUDGET, 5.0)
    )
    assert Allowance(1.0).has_room(spent, whole=[ONE])
    assert not Allowance(0.99).has_room(spent, whole=[ONE])
    assert not Allowance(0.99).has_room(spent, whole=[OTHER]), "as long as the longest"


def test_runs_without_a_time_take_none() -> None:
    spent = ledger((Stage.PROBE, SHORT, 2.0), cores=None)
    spent.results.append((spent.results[0][0], TrialResult(state=TrialState.INFEASIBLE)))
    assert Allowance(1.0).has_room(spent, short=[ONE])
