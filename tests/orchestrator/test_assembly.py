"""From a command line to the parts of a sweep."""

from __future__ import annotations

from pathlib import Path

import pytest

from orchestrator.assembly import read_request
from orchestrator.cli import parser
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
