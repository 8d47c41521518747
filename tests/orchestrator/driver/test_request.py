"""A command line with its sweep: the data it means, and the requests that are refused."""

import gzip
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from orchestrator.cli import parse
from orchestrator.driver.request import read_request
from tests.orchestrator.helpers.in_process import importing_nothing_for_good, run_main
from tests.orchestrator.helpers.sweep_files import HEADER
from tests.trainables.data.conftest import copied, edit, replaced, truncated

TAIL = """
from trainables.data.sets.ogbn_products import OGBN_PRODUCTS
from trainables.data.sets.products_synthetic import PRODUCTS_SYNTHETIC

SETS = [OGBN_PRODUCTS, PRODUCTS_SYNTHETIC]
SWEEP = Sweep(
    Trainable(train, Config, data=SETS, reports=[maximize("val_acc")], name="t"), question="?",
    space=Config(lr=choice(0.1, 0.2)),
)
"""


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "ogb" / "ogbn_products" / "raw").mkdir(parents=True)
    (tmp_path / "0.1").mkdir()
    (tmp_path / "file.py").write_text(HEADER + TAIL)
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("~/ogb", "{home}/ogb"),
        ("./ogb", "{home}/ogb"),
        ("ogb", "{home}/ogb"),
        ("ogbn-products@ogb", "ogbn-products@{home}/ogb"),
        ("ogbn-products@~/ogb", "ogbn-products@{home}/ogb"),
        ("ogb@random", "{home}/ogb@random"),
        ("ogbn-products@ogb@random", "ogbn-products@{home}/ogb@random"),
        ("products-synthetic@0.1", "products-synthetic@0.1"),
        ("products-synthetic", "products-synthetic"),
    ],
)
def test_a_folder_of_data_means_same_on_every_worker(home: Path, given: str, meant: str) -> None:
    with importing_nothing_for_good():
        request = read_request(parse(["file.py", "--data", given]))
    assert request.data == meant.format(home=home)


def test_the_variable_has_the_password_that_a_run_does_not_keep(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored = f"sqlite:///{home}/team.db?***"
    arguments = ["file.py", "--data", "products-synthetic", "--tracking-uri", stored]
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "sqlite:///team.db?key=secret")
    with importing_nothing_for_good():
        request = read_request(parse(arguments))
    assert request.options.tracking_uri == f"sqlite:///{home}/team.db?key=secret"


STANDS_IN = """
from orchestrator import Sweep
from trainables.lenet import LeNetConfig, lenet

SWEEP = Sweep(lenet, question="?", space=LeNetConfig(), data="mnist", embedded_data={embedded})
"""


@pytest.mark.parametrize("asked", [[], ["--data", "mnist"]], ids=["none named", "asked for"])
def test_absent_data_are_not_replaced_unasked(tmp_path: Path, asked: list[str]) -> None:
    embedded = "'digits'" if asked else "None"
    (tmp_path / "absent.py").write_text(STANDS_IN.format(embedded=embedded))
    done = run_main("absent.py", "--data-root", "root", "--executor", "inline", *asked, code=2)
    assert done.stdout == ""
    assert done.stderr.startswith("error: mnist is not under root\n")
    assert "--download" in done.stderr
    assert not (tmp_path / "runs").exists()


def test_an_embedded_set_replaces_the_data_if_the_sweep_names_one(tmp_path: Path) -> None:
    (tmp_path / "absent.py").write_text(STANDS_IN.format(embedded="'digits'"))
    done = run_main("absent.py", "--data-root", "root", "--plan")
    note, how = done.stdout.splitlines()[:2]
    assert note == (
        "NOTE: mnist is not under root; running on digits instead, which is not the same data."
    )
    assert "To get mnist: --download" in how


# -- damaged data

LENET = ("lenet", "LeNetConfig")
MNIST_LAYOUT = "mnist/MNIST/raw"
SAGE = ("graphsage", "SageConfig")
PRODUCTS_LAYOUT = "ogb/ogbn_products"

TRAINS = """
from orchestrator import Sweep
from trainables.{name} import {config}, {name}

SWEEP = Sweep({name}, question="?", space={config}(), epochs=1)
"""


def another_magic_number(file: Path) -> None:
    file.write_bytes(gzip.compress(bytes([0, 0, 9, 1]) + bytes(10_004)))


DAMAGED = [
    (LENET, MNIST_LAYOUT, "train-images-idx3-ubyte.gz", truncated, "truncated", False),
    (LENET, MNIST_LAYOUT, "train-labels-idx1-ubyte.gz", another_magic_number, "number 2305", True),
    (SAGE, PRODUCTS_LAYOUT, "raw/edge.csv.gz", partial(edit, change=replaced(7, "0,7650")),
     ":7: node 7650 does not exist", False),
    (SAGE, PRODUCTS_LAYOUT, "raw/node-feat.csv.gz", Path.unlink, "is missing", True),
]  # fmt: skip
"""The trainable, its data, the damage, and whether reading the headers shows it."""


@pytest.mark.parametrize(("trainable", "layout", "file", "damage", "text", "in_headers"), DAMAGED)
def test_damaged_data_is_refused_by_a_run_and_by_a_plan_as_far_as_headers_show_it(
    test_data: Path,
    tmp_path: Path,
    trainable: tuple[str, str],
    layout: str,
    file: str,
    damage: Callable[[Path], None],
    text: str,
    *,
    in_headers: bool,
) -> None:
    data = copied(test_data / layout, tmp_path / layout)
    damage(data / file)
    name, config = trainable
    (tmp_path / "trains.py").write_text(TRAINS.format(name=name, config=config))
    how = ["--plan"] if in_headers else ["--executor", "inline", "--no-mlflow"]
    done = run_main("trains.py", "--data", data, *how, code=2)
    assert done.stdout == ""
    assert str(data / file) in done.stderr
    assert text in done.stderr
    assert not (tmp_path / "runs").exists()


def test_a_plan_calls_the_data_what_it_is_and_converts_nothing(
    test_data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SWEEP_CACHE", str(tmp_path / "cache"))
    (tmp_path / "trains.py").write_text(TRAINS.format(name="graphsage", config="SageConfig"))
    done = run_main("trains.py", "--plan", "--data-root", test_data / "ogb")
    assert "data        ogbn-products-like-7650-nodes\n" in done.stdout
    assert not (tmp_path / "cache").exists()


def test_a_plan_notes_that_absent_data_were_not_read(tmp_path: Path) -> None:
    (tmp_path / "trains.py").write_text(TRAINS.format(name="lenet", config="LeNetConfig"))
    done = run_main("trains.py", "--plan", "--download", "--data-root", "root")
    assert "data        mnist, to be downloaded: not read yet\n" in done.stdout
