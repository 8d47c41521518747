"""The factored search as a whole, on drawn truths of 180 configs."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

import pytest

from orchestrator.kernel.problem import SearchProblem
from orchestrator.kernel.search import Proposal
from orchestrator.search import Factored
from orchestrator.search.factored.search import FactoredSearch
from orchestrator.space.configs import replaced
from orchestrator.space.domains import loguniform
from orchestrator.trial import Stage, Trial
from tests.orchestrator.search.factored.simulated import (
    EPOCHS,
    SAMPLES,
    SMALL,
    Machine,
    Truth,
    problem,
)
from tests.orchestrator.search.playing import asked_in, completed, journalled, replay, trial_of

SEEDS = range(20)


def ran(here: SearchProblem, truth: Truth, slots: int = 1) -> Machine:
    return Machine(truth, here, slots=slots, draw=truth.seed).run(Factored().start(here))


@pytest.mark.parametrize("slots", [1, 4, 10])
def test_a_journal_repeated_gives_the_same_search(slots: int) -> None:
    here = problem()
    truth = Truth(5, order_by_workers=True, infeasible=lambda config: config["workers"] == 8)
    calls = journalled(ran(here, truth, slots).calls)
    assert replay(Factored().start(here), calls) == asked_in(calls)


def test_the_stages_follow_each_other_and_no_trial_is_asked_for_twice() -> None:
    trials = [trial for trial, _ in ran(problem(), Truth(1)).results]
    asked = [(str(t.config), t.stage, t.repeat, t.budget.pause_after) for t in trials]
    assert len(set(asked)) == len(asked)
    first_train = next(i for i, t in enumerate(trials) if t.stage is Stage.TRAIN)
    assert all(t.repeat < 6 for t in trials[:first_train])
    assert max(t.repeat for t in trials if t.stage is Stage.TRAIN) == 2
    parts: dict[tuple[str, int], list[int | None]] = defaultdict(list)
    for each in trials[first_train:]:
        if each.stage is Stage.TRAIN:
            parts[str(each.config), each.repeat].append(each.budget.pause_after)
    assert set(map(tuple, parts.values())) <= {(1,), (1, 3), (1, 3, None), (None,)}


def test_of_speed_alone_one_curve_of_each_group_that_may_be_the_fastest_is_trained() -> None:
    here, truth = problem(), Truth(1)
    here = replace(here, objectives=here.objectives[:1])
    trials = [t for t, _ in ran(here, truth).results]
    trained = {t.config["batch"]: t.config for t in trials if t.stage is Stage.TRAIN}
    assert {64, 512} == trained.keys(), "the baseline's, and the fastest: no further seeds"
    assert {config["lr"] for config in trained.values()} == {0.03}


def test_between_points_of_an_interval_curves_near_the_best_are_trained() -> None:
    here, truth = problem(replaced(SMALL, {"lr": loguniform(0.003, 0.3)})), Truth(1)
    search = Factored().start(here)
    machine = Machine(truth, here).run(search)
    trained = {t.config["lr"] for t, _ in machine.results if t.stage is Stage.TRAIN}
    assert {0.003, 0.03, 0.3} < trained <= {0.003, 0.00948683, 0.03, 0.0948683, 0.3}
    (note,) = search.notes()
    assert note.endswith("what lies between is looked at beside the best alone (points= sets more)")
    limited = Machine(truth, here).run(Factored(trials=12).start(here))
    trained = {t.config["lr"] for t, _ in limited.results if t.stage is Stage.TRAIN}
    assert trained == {0.003, 0.03, 0.3}


def notes_of(truth: Truth) -> tuple[list[str], FactoredSearch, list[Trial]]:
    here = problem(seed=truth.seed)
    search = Factored().start(here)
    machine = Machine(truth, here, draw=truth.seed).run(search)
    return search.notes(), search, [trial for trial, _ in machine.results]


@pytest.mark.parametrize("seed", SEEDS)
def test_roles_that_are_true_raise_no_alarm(seed: int) -> None:
    assert notes_of(Truth(seed))[0] == []


@pytest.mark.parametrize("seed", range(3))
def test_a_loader_with_an_order_by_workers_makes_groups_of_them(seed: int) -> None:
    notes, search, trials = notes_of(Truth(seed, order_by_workers=True, worker_loss=0.002))
    (note,) = notes
    assert note.startswith("workers is declared systems, and the batches differ")
    assert "it counts as both here" in note
    assert search.roles["workers"] == "both"
    trained = {t.config["workers"] for t in trials if t.stage is Stage.TRAIN}
    assert trained == {0, 1, 2, 4, 8}, "each is a group now"
    assert len([t for t in trials if t.stage is Stage.PROBE and t.repeat == 0]) == 36


@pytest.mark.parametrize("seed", range(10))
def test_a_systems_knob_that_costs_accuracy_late_is_found(seed: int) -> None:
    notes, search, trials = notes_of(Truth(seed, late_loss=0.01))
    (note,) = notes
    assert note.startswith("workers: declared systems, and the baseline has val_acc")
    assert search.roles == {**problem().roles, "workers": "both"}
    whole = [t for t in trials if t.stage is Stage.TRAIN and t.budget.pause_after is None]
    assert {t.config["workers"] for t in whole} == {0, 1, 2, 4, 8}, "the answer is composed anew"


def test_a_search_that_is_cut_or_limited_notes_what_it_left_out() -> None:
    search = Factored().start(problem())
    for _ in range(5):
        asked = search.ask()
        assert isinstance(asked, Proposal)
        search.tell(trial_of(asked), completed(samples_per_s=1.0))
    search.end_early()
    assert search.notes() == ["cut short: 5 of 36 settings have a speed, 0 of 20 curves are whole"]
    limited = Factored(trials=8).start(problem())
    Machine(Truth(1), problem()).run(limited)
    assert limited.notes() == ["12 of 20 curves are not looked at: trials=8"]


def test_more_curves_are_added_to_those_that_were_trained() -> None:
    """A search of 8 curves that continues to 14 repeats nothing; one of 14 has the same curves."""
    here, truth = problem(), Truth(1)
    search = Factored(trials=8).start(here)
    machine = Machine(truth, here).run(search)
    before = len(machine.results)
    search.extend(14)
    machine.run(search)
    later = Machine(truth, here).run(Factored(trials=14).start(here))

    def trained(trials: Sequence[Trial]) -> set[tuple[int, float]]:
        return {(t.config["batch"], t.config["lr"]) for t in trials if t.stage is Stage.TRAIN}

    asked = [trial for trial, _ in machine.results]
    assert len(trained(asked[:before])) == 8
    assert trained(asked) == trained([trial for trial, _ in later.results])
    keys = [(str(t.config), t.stage, t.repeat, t.budget.pause_after) for t in asked]
    assert len(set(keys)) == len(keys)


def test_the_baseline_does_not_wait_for_probes_nor_a_group_for_the_others() -> None:
    calls = [call for call in ran(problem(), Truth(1), slots=10).calls if call[0] != "should_stop"]
    order = [
        (name, asked.stage, asked.budget.pause_after)
        for name, asked, *_ in calls
        if isinstance(asked, Proposal)
    ]
    first_curve = order.index(("ask", Stage.TRAIN, 1))
    own = order.index(("ask", Stage.TRAIN, None))
    assert ("ask", Stage.PROBE, None) in order[own:first_curve]
    assert ("tell", Stage.TRAIN, 1) in order[order.index(("ask", Stage.TRAIN, 3)) :]


def test_an_eighth_of_the_grid_will_do() -> None:
    machine = ran(problem(), Truth(2))
    factors = Factored().factors(machine.problem)
    configs = [factors.candidates.config(key) for key in factors.candidates.keys]
    grid_s = sum(EPOCHS * SAMPLES / machine.truth.speed(config) for config in configs)
    assert machine.core_s < grid_s / 8
