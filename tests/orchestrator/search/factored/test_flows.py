"""Flows of trials: which run at the same time, and which wait."""

from orchestrator.kernel.search import WAIT, Pause, Proposal
from orchestrator.search.factored.flows import Flow, Flows
from orchestrator.trial import Budget
from tests.orchestrator.search.playing import problem, trial_of

HERE = problem()


def trial(batch: int) -> Proposal:
    return Proposal(config={**HERE.baseline, "batch": batch}, budget=Budget(epochs=1))


def one_by_one(*batches: int) -> Flow:
    for batch in batches:
        yield [trial(batch)]


def nested() -> Flow:
    yield [one_by_one(1, 2), trial(3), one_by_one(), one_by_one(4)]
    yield [trial(5), trial(6)]


def asked(flows: Flows) -> list[int | Pause | None]:
    """Ask until there is no trial; return their batch sizes, and the last answer."""
    found: list[int | Pause | None] = []
    while isinstance(answer := flows.ask(), Proposal):
        found.append(answer.config["batch"])
    return [*found, answer]


def test_what_is_side_by_side_does_not_wait_and_the_next_step_waits_for_all_of_it() -> None:
    flows = Flows(HERE, nested())
    assert asked(flows) == [1, 3, 4, WAIT]
    flows.tell(trial_of(trial(1)))
    flows.tell(trial_of(trial(4)))
    assert asked(flows) == [2, WAIT]
    flows.tell(trial_of(trial(3)))
    assert asked(flows) == [WAIT]
    flows.tell(trial_of(trial(2)))
    assert asked(flows) == [5, 6, WAIT]
    flows.tell(trial_of(trial(5)))
    flows.tell(trial_of(trial(6)))
    assert asked(flows) == [None]


def test_a_trial_that_two_flows_ask_for_ends_for_both() -> None:
    flows = Flows(HERE, iter([[one_by_one(1), one_by_one(1, 2)], [trial(3)]]))
    assert asked(flows) == [1, 1, WAIT]
    flows.tell(trial_of(trial(1)))
    flows.tell(trial_of(trial(1)))
    assert asked(flows) == [2, WAIT]


def test_another_flow_begins_when_the_step_has_ended() -> None:
    flows = Flows(HERE, one_by_one(1, 2))
    flows.ask()
    flows.replace(one_by_one(3))
    flows.tell(trial_of(trial(1)))
    assert asked(flows) == [3, WAIT]
    flows.tell(trial_of(trial(3)))
    flows.replace(one_by_one(4))
    assert asked(flows) == [4, WAIT]
