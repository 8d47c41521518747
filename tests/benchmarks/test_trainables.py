from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.trainables import MODULES, main
from benchmarks.trainables_graphsage import KINDS, _fastest
from tests.conftest import ROOT, RunCli


def test_every_benchmark_is_there() -> None:
    for module in MODULES.values():
        assert (ROOT / f"{module.replace('.', '/')}.py").exists()


@pytest.mark.parametrize("asked", [[], ["lennet"], ["--help"]])
def test_names_are_listed(asked: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(asked) == 2
    assert "say one of: lenet, graphsage, rgat" in capsys.readouterr().err


def test_arguments_after_the_name_are_the_benchmark_s(run_cli: RunCli) -> None:
    finished = run_cli("lenet", "--rounds", "x", module="benchmarks.trainables")
    assert finished.returncode == 2
    assert "argument --rounds: invalid int value: 'x'" in finished.stderr


def test_without_mnist_it_says_where_that_is_to_be(run_cli: RunCli, tmp_path: Path) -> None:
    finished = run_cli("lenet", "--data-root", tmp_path, module="benchmarks.trainables")
    assert finished.returncode == 2
    assert "mnist: there is no folder" in finished.stderr


def test_the_faster_kind_of_each_side_is_compared() -> None:
    rates = dict(zip(KINDS, ([1.0, 2.0], [7.0, 8.0], [3.0, 4.0], [5.0, 6.0]), strict=True))
    assert _fastest(rates) == ("ours", "dgl, workers")


@pytest.mark.slow
def test_graphsage_is_measured_beside_dgl(run_cli: RunCli) -> None:
    finished = run_cli(
        *[
            "graphsage",
            "--scale",
            "0.002",
            "--rounds",
            "1",
            "--epochs",
            "1",
            "--batch-size",
            "100",
            "--cores",
            "1",
        ],
        module="benchmarks.trainables",
    )
    assert finished.returncode in (0, 1), finished.stderr  # a ratio at this size means nothing
    assert "- command: `python -m benchmarks.trainables_graphsage --scale 0.002" in finished.stdout
    assert "| ours to dgl (to reach: 1) |" in finished.stdout
