"""From a command line to the parts of a sweep."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from orchestrator.assembly import make_setting, read_request
from orchestrator.cli import parser
from orchestrator.loading import search_problem
from orchestrator.search.base import Proposal
from orchestrator.trainable import Machine, Node
from tests.orchestrator.sweep_files import HEADER

TAIL = """
from trainables.data.ogbn_products import OGBN_PRODUCTS
from trainables.data.products_synthetic import PRODUCTS_SYNTHETIC

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
    setting = make_setting(limited, None, machine, tmp_path)
    problem = search_problem(limited.sweep, machine)
    limits = [
        setting.launch(
            setting.trial(Proposal(config=problem.baseline, budget=problem.budget.times(factor)))
        ).time_limit_s
        for factor in (1, 3)
    ]
    assert limits == [10.0, 30.0]
