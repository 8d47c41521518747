"""The phases of a sweep: its search, and the stages around it. A plan counts the same ones."""

from functools import partial
from typing import Any, Final

from orchestrator.driver.interleaving import may_interleave
from orchestrator.execution.placement import machine_capacity
from orchestrator.kernel.problem import SearchProblem
from orchestrator.kernel.search import Search
from orchestrator.machine import Machine
from orchestrator.search.stages.confirm import Confirming
from orchestrator.search.stages.interference import InterferenceCheck
from orchestrator.search.stages.judge import Judge
from orchestrator.search.stages.repeats import Repeating
from orchestrator.search.stages.sequence import Phase, Searching
from orchestrator.storage.sweep_record import Capacity
from orchestrator.sweep.definition import Sweep
from orchestrator.trial import Isolation

CONFIRM_SHARE: Final = 0.4
"""Core-time of the confirm stage at most after a search that ends trainings early, as a share of
what precedes it; up to its first interim analysis it may take more."""


def make_phases(
    sweep: Sweep[Any],
    problem: SearchProblem,
    search: Search,
    *,
    machine: Machine,
    capacity: Capacity,
    judge: Judge,
    enumerates: bool = False,
) -> list[Phase]:
    """Return the sweep's search with the phases before and after it; nothing has begun.

    If a node runs several trials at the same time, the interference check comes after the first
    of them. Then come the rest, the repeats if they can decide something, and the confirm stage.
    A search with probes has its own repeats, and isolated probes in place of the check for
    interference.

    Args:
        sweep: The sweep.
        problem: The problem that its search solves.
        search: Its search, started; not started if the phases are only counted.
        machine: Where trials run.
        capacity: Most trials at the same time.
        judge: Decides what is repeated and confirmed.
        enumerates: True if the search's configs do not depend on results.
    """
    rigor, phases = sweep.rigor, list[Phase]()
    ending = None if sweep.stopping is None else sweep.stopping.start(problem)
    if sweep.search.has_probes:
        phases.append(Searching(search))
    else:
        # Co-located trials may slow each other down.
        is_leased = sweep.isolation is Isolation.LEASED
        if rigor.check_isolated and capacity.per_node > 1 and is_leased:
            num_first = 2 * capacity.per_node
            first = Searching(search, num_first, enumerates=enumerates, ending=ending)
            check = InterferenceCheck(
                num_configs=rigor.check_isolated,
                capacity=capacity.total,
                num_before=num_first,
                speed=next(o.metric for o in problem.objectives if o.bound is None),
                judge=judge,
            )
            phases += [first, check]
        phases.append(Searching(search, enumerates=enumerates, ending=ending))
        if rigor.max_repeats > rigor.repeats:
            phases.append(Repeating(runs=rigor.repeats, max_runs=rigor.max_repeats, judge=judge))
    if rigor.confirm:
        may = partial(may_interleave, sweep, machine, capacity) if rigor.interleaved else None
        ends_early = sweep.search.has_rungs or ending is not None
        confirming = Confirming(
            analyses=rigor.analyses,
            judge=judge,
            finalists=rigor.finalists,
            may_interleave=may,
            run=sweep.search.compared_run(problem),
            side_by_side=capacity.total > capacity.per_node,
            allowance=CONFIRM_SHARE if ends_early else None,
        )
        phases.append(confirming)
    return phases


def capacity_of(sweep: Sweep[Any], machine: Machine, num_cores: int, most: int | None) -> Capacity:
    """Return how many trials of ``num_cores`` cores run at the same time, at most ``most``.

    Interleaved ones may take half of a node's memory: those that are stopped keep theirs.
    """
    demand = sweep.trainable.demand_of(sweep.baseline, machine)

    def trials(part: Machine) -> int:
        count = len(part.nodes)
        if sweep.isolation is not Isolation.EXCLUSIVE:
            count = machine_capacity(num_cores, part, demand)
        return min(count, most or count)

    smallest, is_shared = min(machine.nodes, key=lambda n: n.memory_gib), sweep.rigor.interleaved
    return Capacity(
        per_node=max(trials(Machine(nodes=(node,))) for node in machine.nodes),
        total=trials(machine),
        interleaved_gib=smallest.memory_gib / 2 if is_shared else 0.0,
        interleaved_gpu_gib=smallest.gpu_memory_gib if is_shared else 0.0,
    )
