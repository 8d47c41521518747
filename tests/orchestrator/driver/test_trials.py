"""From a search's proposal to a trial, and which trials may be interleaved."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from orchestrator import Isolation, Sweep
from orchestrator.driver import interleaving
from orchestrator.driver.trials import TrialFactory
from orchestrator.kernel.search import Proposal
from orchestrator.machine import Machine, Node
from orchestrator.space.configs import values_of
from orchestrator.storage.sweep_record import Capacity
from orchestrator.trial import Report, Stage, TrialResult, TrialState
from tests.orchestrator.driver.plans import made_factory
from trainables.graphsage import SageConfig, graphsage

SWEEP = Sweep(graphsage, question="?", space=SageConfig())
ON_GPU = Capacity(interleaved_gib=99.0, interleaved_gpu_gib=10.0)
GPU = Machine(nodes=(Node(name="a", cpus=4, gpus=1, gpu_name="A"),))


@pytest.fixture
def factory(tmp_path: Path) -> TrialFactory:
    machine = Machine(nodes=(Node(name="a", cpus=4),))
    return made_factory(tmp_path, SWEEP, machine, capacity=Capacity(interleaved_gib=3.0))


def proposal_of(**changes: object) -> Proposal:
    return Proposal(config={**values_of(SageConfig()), **changes}, budget=SWEEP.budget)


@pytest.mark.parametrize(
    "changed",
    [{"repeat": 1}, {"stage": Stage.PROBE}, {"isolated": True}, {"interleaved": True}],
    ids=str,
)
def test_the_id_distinguishes_all_that_makes_a_trial(
    factory: TrialFactory, changed: Mapping[str, object]
) -> None:
    proposal = proposal_of()
    assert factory.trial(proposal).id == factory.trial(proposal_of()).id
    assert factory.trial(replace(proposal, **changed)).id != factory.trial(proposal).id  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("of_sweep", "isolated", "granted"),
    [
        (Isolation.LEASED, False, Isolation.LEASED),
        (Isolation.LEASED, True, Isolation.EXCLUSIVE),
        (Isolation.SHARED, True, Isolation.SHARED),
        (Isolation.EXCLUSIVE, False, Isolation.EXCLUSIVE),
    ],
)
def test_an_isolated_trial_of_leased_ones_has_its_node_to_itself(
    factory: TrialFactory, of_sweep: Isolation, isolated: bool, granted: Isolation
) -> None:
    trial = factory.trial(replace(proposal_of(), isolated=isolated))
    asked = replace(factory, sweep=replace(SWEEP, isolation=of_sweep))
    assert asked.launch([trial]).isolation is granted


def may_interleave(
    factory: TrialFactory,
    *,
    peak_gib: float = 1.5,
    gpu_gib: float = 0.0,
    other: Mapping[str, object] | None = None,
    earlier: TrialState | None = None,
) -> bool:
    """Ask for two configs, both of which ran before with so much memory."""
    peaks = {"peak_rss_gib": peak_gib} | ({"gpu_memory_gib": gpu_gib} if gpu_gib else {})
    proposals = [proposal_of(), proposal_of(**(other or {"num_workers": 1}))]
    seen = TrialResult(state=TrialState.COMPLETED, metrics=peaks)
    results = [(factory.trial(proposal), seen) for proposal in proposals]
    if earlier is not None:
        interleaved = factory.trial(replace(proposals[0], interleaved=True))
        results.append((interleaved, TrialResult(state=earlier)))
    configs = [proposal.config for proposal in proposals]
    where = factory.sweep, factory.machine, factory.capacity
    return interleaving.may_interleave(*where, configs, results)


@pytest.mark.parametrize(
    ("changes", "of_runs", "may"),
    [
        ({}, {}, True),
        ({}, {"peak_gib": 1.6}, False),
        ({"capacity": Capacity(interleaved_gib=0.0)}, {}, False),
        ({"capacity": Capacity(interleaved_gib=99.0)}, {"other": {"ranks": 2}}, False),
        ({"capacity": ON_GPU, "machine": GPU}, {"gpu_gib": 5.0}, True),
        ({"capacity": ON_GPU, "machine": GPU}, {"gpu_gib": 5.1}, False),
        ({"capacity": ON_GPU, "machine": GPU}, {}, False),
        ({}, {"earlier": TrialState.FAILED}, False),
        ({}, {"earlier": TrialState.COMPLETED}, True),
    ],
    ids=[
        "fit",
        "memory",
        "no memory",
        "ranks",
        "GPU",
        "GPU memory",
        "unknown",
        "one failed",
        "one completed",
    ],
)
def test_single_processes_are_interleaved_while_they_fit_and_complete(
    factory: TrialFactory, changes: dict[str, Any], of_runs: dict[str, Any], *, may: bool
) -> None:
    assert may_interleave(replace(factory, **changes), **of_runs) is may


@pytest.mark.parametrize(
    ("earlier", "changed", "samples", "state"),
    [
        ([], {"num_workers": 2}, 200, TrialState.INFEASIBLE),
        ([], {"num_workers": 2}, 104, TrialState.COMPLETED),
        ([], {"batch_size": 64}, 50, TrialState.COMPLETED),
        ([], {"batch_size": 64, "num_workers": 2}, 200, TrialState.COMPLETED),
        ([{"batch_size": 32}], {"batch_size": 64, "num_workers": 2}, 200, TrialState.INFEASIBLE),
    ],
)
def test_a_systems_knob_that_changes_the_samples_of_an_epoch_is_infeasible(
    factory: TrialFactory,
    earlier: list[dict[str, object]],
    changed: dict[str, object],
    samples: int,
    state: TrialState,
) -> None:
    done = TrialResult(state=TrialState.COMPLETED, metrics={"samples_per_s": 1.0})
    for config, seen in [({}, 100), *((each, 100) for each in earlier), (changed, samples)]:
        trial = factory.trial(proposal_of(**config))
        report = Report(step=1, epoch=2, samples=2 * seen, elapsed_s=1.0, metrics={})
        factory.observe(trial, report)
        result = factory.concluded(trial, done)
    assert result.state is state
    assert ("num_workers, declared systems" in result.reason) is (state is TrialState.INFEASIBLE)


def test_a_row_names_the_knobs_without_effect_in_its_config(factory: TrialFactory) -> None:
    done = TrialResult(
        state=TrialState.COMPLETED, tags={"bound": "loader"}, metrics={"samples_per_s": 1.0}
    )

    def tags(num_workers: int) -> Mapping[str, str]:
        return factory.concluded(factory.trial(proposal_of(num_workers=num_workers)), done).tags

    assert {"prefetch_factor", "persistent_workers"} <= set(tags(0)["idle"].split(", "))
    assert not {"prefetch_factor", "persistent_workers"} & set(tags(3)["idle"].split(", "))
    assert tags(3)["bound"] == "loader"


@pytest.mark.parametrize(
    ("found", "row"),
    [("false", "9 s cut"), ("", "9 s cut"), ("30 %", "30 %; 9 s cut"), ("9 s cut", "9 s cut")],
)
def test_a_slow_start_is_other_load_in_a_row(factory: TrialFactory, found: str, row: str) -> None:
    tags = {"contaminated": found, "slow_start": "9 s cut"}
    result = TrialResult(state=TrialState.STOPPED, tags=tags)
    assert factory.concluded(factory.trial(proposal_of()), result).tags["contaminated"] == row


def test_a_full_or_missing_folder_is_an_error_of_the_run(
    factory: TrialFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("orchestrator.driver.trials.ROOM_WITHIN_S", 0.2)
    trial = factory.trial(proposal_of())
    gone = replace(factory, folder=factory.scratch / "gone")
    with pytest.raises(FileNotFoundError, match="gone"):
        gone.launch([trial])
    with pytest.raises(FileNotFoundError, match="gone"):
        gone.concluded(trial, TrialResult(state=TrialState.FAILED))
