"""From a command line to the parts of a sweep."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from orchestrator.cli import parser
from orchestrator.driver.assembly import Request, make_factory, read_request
from orchestrator.machine import Machine, Node
from tests.orchestrator.sweep_files import HEADER

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


def test_trials_of_a_cluster_are_not_interleaved(home: Path, tmp_path: Path) -> None:
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
