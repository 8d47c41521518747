"""Both sides of the trainables' benchmarks, each at a size that takes no time."""

import os
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch

from benchmarks.trainables import graphsage, lenet, rgat
from benchmarks.trainables.__main__ import NAMES, main
from orchestrator.data import DataFolders
from tests.conftest import RunCli
from trainables.data.formats.relational_store import RelationalStore
from trainables.data.sets.digits import DIGITS
from trainables.data.sets.mag_synthetic import MAG_SYNTHETIC
from trainables.data.sets.products_synthetic import PRODUCTS_SYNTHETIC
from trainables.rgat import RgatConfig


@pytest.mark.parametrize("asked", [[], ["lennet"], ["--help"]])
def test_names_are_listed(asked: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(asked) == 2
    assert f"say one of: {', '.join(NAMES)}" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["lenet", "--rounds", "x"], "argument --rounds: invalid int value: 'x'"),
        (["lenet", "--data-root", "."], "mnist: there is no folder"),
    ],
)
def test_a_wrong_request_exits_with_2(
    words: list[str],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as exit_:
        main(words)
    assert exit_.value.code == 2
    assert message in capsys.readouterr().err


# -- speed


@pytest.mark.parametrize(("rate", "is_reached"), [(1.3, True), (1.29, False)])
def test_steps_of_rgat_decide(rate: float, is_reached: bool) -> None:
    found = {"ours": [{"step": rate, "batch": 0.5}], "dgl": [{"step": 1.0, "batch": 1.0}]}
    assert [row.is_reached for row in rgat.comparisons(found)] == [is_reached, True]


Side = Callable[[], object]


@pytest.fixture
def this_process() -> Iterator[None]:
    """Restore the cores and threads that a side takes for itself."""
    cores, threads = os.sched_getaffinity(0), torch.get_num_threads()
    yield
    os.sched_setaffinity(0, cores)
    torch.set_num_threads(threads)


def lenet_sides(folders: DataFolders) -> tuple[Side, Side]:
    data = DIGITS.prepare(folders).path
    return partial(lenet.our_steps, "resident", data, 4), partial(lenet.bare_steps, data, 4)


def graphsage_sides(folders: DataFolders) -> tuple[Side, Side]:
    given = (PRODUCTS_SYNTHETIC.at("0.001").prepare(folders).path, 10, 0, 1)
    return partial(graphsage.our_epochs, *given), partial(graphsage.dgl_epochs, *given)


def rgat_sides(folders: DataFolders) -> tuple[Side, Side]:
    store = RelationalStore.open(MAG_SYNTHETIC.at("1e-5").prepare(folders).path)
    config = RgatConfig(batch_size=10, hidden=8, heads=2, fanouts=(2, 2))
    return partial(rgat.our_step, config, store), partial(rgat.dgl_step, config, store)


class _OptimizerAskedFor(Exception):
    pass


@pytest.mark.usefixtures("this_process")
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
def test_graphsage_is_measured_against_dgl(run_cli: RunCli) -> None:
    words = "graphsage --scale 0.002 --rounds 1 --epochs 1 --batch-size 100"
    finished = run_cli(*words.split(), module="benchmarks.trainables", code=None)
    assert finished.returncode in (0, 1), finished.stderr  # a ratio may be missed at this size
    assert f"- command: `python -m benchmarks.trainables {words}" in finished.stdout
    assert "| ours to dgl (to reach: 1) |" in finished.stdout
