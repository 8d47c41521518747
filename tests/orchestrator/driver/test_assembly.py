"""From a command line to the parts of a sweep."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from orchestrator import DataFolders, Isolation, Sweep
from orchestrator.cli import parser
from orchestrator.driver.assembly import Request, make_factory, read_request
from orchestrator.driver.trials import TrialFactory
from orchestrator.execution.base import Source
from orchestrator.machine import Machine, Node
from orchestrator.search.base import Proposal
from orchestrator.space.declare import values_of
from orchestrator.sweep.loading import search_problem
from orchestrator.trial import TrialResult, TrialState
from tests.orchestrator.sweep_files import HEADER
from trainables.graphsage import SageConfig, graphsage

TAIL = """
from trainables.data.sets.ogbn_products import OGBN_PRODUCTS
from trainables.data.sets.products_synthetic import PRODUCTS_SYNTHETIC

SETS = [OGBN_PRODUCTS, PRODUCTS_SYNTHETIC]
SWEEP = Sweep(
    Trainable(train, Config, data=SETS, reports=[maximize("val_acc")], name="t"), question="?",
    space=Config(lr=choice(0.1, 0.2)),
)
"""


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "ogb" / "ogbn_products" / "raw").mkdir(parents=True)
    (tmp_path / "0.1").mkdir()
    (tmp_path / "file.py").write_text(HEADER + TAIL)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("~/ogb", "{home}/ogb"),
        ("./ogb", "{home}/ogb"),
        ("ogb", "{home}/ogb"),
        ("ogbn-products@ogb", "ogbn-products@{home}/ogb"),
        ("ogbn-products@~/ogb", "ogbn-products@{home}/ogb"),
        ("products-synthetic@0.1", "products-synthetic@0.1"),
        ("products-synthetic", "products-synthetic"),
    ],
)
def test_a_folder_of_data_means_the_same_on_every_worker(
    home: Path, given: str, meant: str
) -> None:
    request = read_request(parser().parse_args(["file.py", "--data", given]))
    assert request.data == meant.format(home=home)


def test_a_trial_with_a_larger_budget_has_a_time_limit_in_proportion(
    home: Path, tmp_path: Path
) -> None:
    request = read_request(parser().parse_args(["file.py", "--data", "products-synthetic"]))
    limited = replace(request, sweep=replace(request.sweep, time_limit_s=10.0))
    machine = Machine(nodes=(Node(name="a", cpus=1),))
    setting = make_factory(limited, None, machine, tmp_path)
    problem = search_problem(limited.sweep, machine)
    limits = [
        setting.launch(
            setting.trial(Proposal(config=problem.baseline, budget=problem.budget.times(factor)))
        ).time_limit_s
        for factor in (1, 3)
    ]
    assert limits == [10.0, 30.0]


def test_trials_take_turns_where_their_memory_fits_and_on_the_cpu(tmp_path: Path) -> None:
    sweep = Sweep(graphsage, question="?", space=SageConfig())
    setting = TrialFactory(
        sweep=sweep, source=Source(), source_hash="", data="", data_name="", data_fingerprint="",
        folders=DataFolders(root=tmp_path, cache=tmp_path), num_cores=1,
        machine=Machine(nodes=(Node(name="a", cpus=4),)),
        isolation=Isolation.LEASED, scratch=tmp_path, interleaved_gib=3.0,
    )  # fmt: skip

    def may(
        setting: TrialFactory,
        *changes: Mapping[str, object],
        peak_gib: float = 1.5,
        before: TrialState | None = None,
    ) -> bool:
        configs = [{**values_of(SageConfig()), **change} for change in changes]
        proposals = [Proposal(config=config, budget=sweep.budget) for config in configs]
        seen = TrialResult(state=TrialState.COMPLETED, metrics={"peak_rss_gib": peak_gib})
        results = [(setting.trial(proposal), seen) for proposal in proposals]
        if before is not None:
            interleaved = setting.trial(replace(proposals[0], interleaved=True))
            results.append((interleaved, TrialResult(state=before)))
        return setting.may_interleave(configs, results if peak_gib else [])

    assert may(setting, {}, {"num_workers": 1})
    assert not may(setting, {}, {"num_workers": 1}, peak_gib=1.6)
    assert not may(setting, {}, {"num_workers": 1}, peak_gib=0.0), "nothing was seen of it"
    assert not may(replace(setting, interleaved_gib=0.0), {}, {"num_workers": 1})
    assert not may(replace(setting, interleaved_gib=99.0), {}, {"ranks": 2})
    assert not may(setting, {}, {"num_workers": 1}, before=TrialState.FAILED)
    assert may(setting, {}, {"num_workers": 1}, before=TrialState.COMPLETED)
    with_gpu = Machine(nodes=(Node(name="a", cpus=4, gpus=1, gpu_name="A"),))
    assert not may(replace(setting, interleaved_gib=99.0, machine=with_gpu), {}, {"num_workers": 1})


def test_trials_of_a_cluster_take_no_turns(home: Path, tmp_path: Path) -> None:
    """Its nodes may have less memory than this one."""
    request = read_request(parser().parse_args(["file.py", "--data", "products-synthetic"]))
    machine = Machine(nodes=(Node(name="a", cpus=4),))

    def room(request: Request) -> float:
        return make_factory(request, None, machine, tmp_path).interleaved_gib

    assert room(request) > 0
    request.options.address = "1.2.3.4:6379"
    assert room(request) == 0
    request.options.address = None
    assert room(replace(request, sweep=replace(request.sweep, interleaved=False))) == 0
    request.options.interleaved_gib = 5.0
    assert room(request) == 5.0, "what a resumed run was started with"
