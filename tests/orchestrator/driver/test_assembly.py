"""The parts of a run: its capacity, on a node and on all, and what makes its figures."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from orchestrator.analysis.rule import rule_of
from orchestrator.data import DataFolders
from orchestrator.driver.assembly import make_derived, make_factory
from orchestrator.driver.options.options import Options
from orchestrator.driver.phases import CONFIRM_SHARE, make_phases
from orchestrator.driver.request import Request
from orchestrator.execution.placement import local_machine
from orchestrator.kernel.search import Search
from orchestrator.machine import Machine, Node
from orchestrator.metrics import Objective, at_least, maximize
from orchestrator.search import Asha
from orchestrator.search.stages.confirm import Confirming
from orchestrator.search.stages.judge import Judge
from orchestrator.storage.sweep_record import Capacity
from orchestrator.sweep.definition import Sweep
from orchestrator.sweep.problem import search_problem
from orchestrator.sweep.rigor import Rigor
from orchestrator.trial import Isolation
from tests.orchestrator.driver.plans import made_factory
from tests.orchestrator.search.playing import SPACE, TRAINABLE
from tests.orchestrator.tracking.journals import make_record

TWO_NODES = Machine(nodes=(Node(name="a", cpus=4), Node(name="b", cpus=8)))


def request(options: Options | None = None, **of_sweep: Any) -> Request:  # noqa: ANN401 - of Sweep
    fields = {"question": "?", "space": SPACE, "cores_per_trial": 1} | of_sweep
    return Request(
        options=options or Options(), file=Path("s.py"), sweep=Sweep(TRAINABLE, **fields),
        folders=DataFolders.default(None), here=TWO_NODES,
    )  # fmt: skip


def capacity_of(request: Request, machine: Machine = TWO_NODES) -> Capacity:
    return make_factory(request, None, machine, Path()).capacity


@pytest.mark.parametrize(
    ("options", "isolation", "per_node", "total"),
    [
        ({}, Isolation.LEASED, 8, 12),
        ({"max_concurrent": 10}, Isolation.LEASED, 8, 10),
        ({"max_concurrent": 3}, Isolation.LEASED, 3, 3),
        ({"executor": "inline"}, Isolation.LEASED, 1, 1),
        ({}, Isolation.EXCLUSIVE, 1, 2),
    ],
)
def test_as_many_trials_run_as_the_nodes_and_the_request_allow(
    options: dict[str, Any], isolation: Isolation, per_node: int, total: int
) -> None:
    capacity = capacity_of(request(Options(**options), isolation=isolation))
    assert (capacity.per_node, capacity.total) == (per_node, total)


def test_a_resumed_run_has_the_capacity_it_had_whatever_runs_it_now() -> None:
    before = make_record(capacity=Capacity(per_node=8, total=16, interleaved_gib=5.0))
    resumed = replace(request(Options(executor="inline")), before=before)
    assert capacity_of(resumed) == before.capacity


def test_trials_of_a_cluster_are_not_interleaved() -> None:
    """The memory of its nodes is not known."""
    here, unasked = local_machine(), request(rigor=Rigor(interleaved=False))
    assert capacity_of(request(), here).interleaved_gib > 0
    assert capacity_of(request()).interleaved_gib == 0
    assert capacity_of(unasked, here).interleaved_gib == 0


def test_reruns_are_turned_off_from_the_start(tmp_path: Path) -> None:
    for no_rerun in (False, True):
        factory = make_factory(request(Options(no_rerun=no_rerun)), None, TWO_NODES, tmp_path)
        assert factory.rerun is not no_rerun


def test_a_target_is_as_near_the_best_for_the_search_as_for_the_report(tmp_path: Path) -> None:
    rigor = Rigor(accuracy_tolerance=0.02)

    def tolerance(target: Objective | None) -> float | None:
        sweep = request(target=target, rigor=rigor).sweep
        record = make_record(target=sweep.aim, rigor=rigor)
        made = make_derived(made_factory(tmp_path, sweep, TWO_NODES), record).target
        assert made == rule_of(record).target
        return made.tolerance

    assert tolerance(maximize("val_acc", tolerance=0.1)) == 0.1
    assert tolerance(at_least("val_acc", 0.9)) is None
    assert tolerance(None) == 0.02
    factory = made_factory(tmp_path, request().sweep, TWO_NODES)
    assert make_derived(factory, make_record(target=None)).target is None


@pytest.mark.parametrize(
    ("of_sweep", "share"),
    [({}, None), ({"stopping": Asha("val_acc"), "epochs": 9}, CONFIRM_SHARE)],
)
def test_the_confirm_stage_is_in_proportion_where_trainings_end_early(
    of_sweep: dict[str, Any], share: float | None
) -> None:
    sweep = request(**of_sweep).sweep
    *_, confirming = make_phases(
        sweep,
        search_problem(sweep, TWO_NODES),
        Search(),
        machine=TWO_NODES,
        capacity=Capacity(),
        judge=Judge(),
    )
    assert isinstance(confirming, Confirming)
    assert confirming.allowance == share
