from __future__ import annotations

import os
import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch

from benchmarks.trainables import graphsage as trainables_graphsage
from benchmarks.trainables import lenet as trainables_lenet
from benchmarks.trainables import rgat as trainables_rgat
from benchmarks.trainables.__main__ import MODULES, main
from benchmarks.trainables.graphsage import KINDS, _fastest
from orchestrator.data import DataFolders
from tests.conftest import ROOT, RunCli
from trainables.data.formats.relational_store import RelationalStore
from trainables.data.sets.digits import DIGITS
from trainables.data.sets.mag_synthetic import MAG_SYNTHETIC
from trainables.data.sets.products_synthetic import PRODUCTS_SYNTHETIC


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


Side = Callable[[], object]
CORES = tuple(sorted(os.sched_getaffinity(0)))


def lenet_sides(folders: DataFolders) -> tuple[Side, Side]:
    def side(kind: str) -> Side:
        data = str(DIGITS.prepare(folders).path)
        work = trainables_lenet.Work(kind=kind, data=data, batch_size=4, cores=CORES)
        return partial(trainables_lenet._rate, work)

    return side("resident"), side(trainables_lenet.BARE)


def graphsage_sides(folders: DataFolders) -> tuple[Side, Side]:
    work = trainables_graphsage.Work(
        kind="",
        data=str(PRODUCTS_SYNTHETIC.at("0.001").prepare(folders).path),
        num_workers=0,
        batch_size=10,
        hidden=4,
        fanouts=(2, 2),
        replace=True,
        epochs=1,
        cores=CORES,
    )
    ours, peer = trainables_graphsage._ours, trainables_graphsage._plain_dgl
    return partial(ours, work), partial(peer, work)


def rgat_sides(folders: DataFolders) -> tuple[Side, Side]:
    work = trainables_rgat.Work(
        kind="",
        data=str(MAG_SYNTHETIC.at("1e-5").prepare(folders).path),
        batch_size=10,
        hidden=8,
        heads=2,
        fanouts=(2, 2),
        dropout=0.5,
        steps=1,
        cores=CORES,
    )
    store = RelationalStore.open(Path(work.data))
    ours, peer = trainables_rgat._our_step, trainables_rgat._dgl_step
    return partial(ours, work, store), partial(peer, work, store)


class _OptimizerAskedFor(Exception):
    pass


@pytest.mark.parametrize("sides", [lenet_sides, graphsage_sides, rgat_sides])
def test_both_sides_train_with_the_same_optimizer(
    sides: Callable[[DataFolders], tuple[Side, Side]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def asked(name: str, _parameters: object, lr: float, **settings: Any) -> None:  # noqa: ANN401
        given = {setting: value for setting, value in settings.items() if value}
        raise _OptimizerAskedFor(name, lr, given)

    def optimizer_of(side: Side) -> tuple[Any, ...]:
        with pytest.raises(_OptimizerAskedFor) as made:
            side()
        return made.value.args

    ours, peer = sides(DataFolders(root=tmp_path, cache=tmp_path))
    for name in ("SGD", "Adam"):
        monkeypatch.setattr(torch.optim, name, partial(asked, name))
    assert optimizer_of(ours) == optimizer_of(peer)


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
    ratios = re.findall(r"to reach: ([\d.]+)\) \| .+? \| .+? \| ([\d.]+) \|", finished.stdout)
    assert len(ratios) == len(trainables_graphsage.COMPARED) + 1, finished.stderr
    missed = [float(ratio) < float(least) for least, ratio in ratios]  # as may happen at this size
    assert finished.returncode == any(missed)
    assert "- command: `python -m benchmarks.trainables.graphsage --scale 0.002" in finished.stdout
    assert "| ours to dgl (to reach: 1) |" in finished.stdout
