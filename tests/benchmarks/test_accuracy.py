from __future__ import annotations

import json
import math
import struct
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import dgl
import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from scipy import stats

from benchmarks.peers.rgat_trained import rgat as plain_rgat
from benchmarks.peers.sage_dgl import graphsage as plain_graphsage
from benchmarks.trainables.accuracy.__main__ import main
from benchmarks.trainables.accuracy.blocks import Blocks, BlocksBesideStudy, measured
from benchmarks.trainables.accuracy.cases import GENERATED, PHOTO, Case, cases
from benchmarks.trainables.accuracy.difference import Difference
from benchmarks.trainables.accuracy.page import blocks_row, page, row
from benchmarks.trainables.accuracy.runs import FinishedRuns, Outcome
from orchestrator.data import DataFolders, find_data
from orchestrator.space.configs import replaced

ONE_OF_EACH = {f"{case.trainable.name} {case.peer}": case for case in cases()}


# -- statistics


def test_the_interval_is_that_of_a_paired_t_test() -> None:
    ours, plain = [0.91, 0.93, 0.92, 0.95, 0.9], [0.9, 0.94, 0.9, 0.93, 0.91]
    found = Difference(ours=ours, plain=plain)
    expected = stats.ttest_rel(ours, plain).confidence_interval(0.95)
    assert found.mean - found.half_width == pytest.approx(expected.low)
    assert found.mean + found.half_width == pytest.approx(expected.high)


def test_one_seed_has_no_interval() -> None:
    assert math.isnan(Difference(ours=[0.9], plain=[0.8]).half_width)


@pytest.mark.parametrize(
    ("aim", "difference", "reached"),
    [
        ("same", 0.0049, True),
        ("same", -0.0049, True),
        ("same", 0.0051, False),
        ("same", -0.0051, False),
        ("above", 0.0001, True),
        ("above", -0.0001, False),
    ],
)
def test_half_a_point_is_allowed_and_common_neighbours_are_to_be_beaten(
    aim: Any,  # noqa: ANN401
    difference: float,
    reached: bool,
) -> None:
    case = replace(cases()[0], aim=aim)
    assert case.is_reached(Difference(ours=[0.5 + difference], plain=[0.5])) == reached


def test_blocks_may_lie_two_per_cent_apart() -> None:
    def beside(targets: float) -> BlocksBesideStudy:
        ours, study = (
            Blocks(first_targets=number, first_edges=1, last_edges=1) for number in (targets, 100)
        )
        return BlocksBesideStudy(data="", batch_size=10, ours=ours, study=study)

    reached = {targets: beside(targets).is_reached for targets in (97, 99, 101, 103)}
    assert reached == {97: False, 99: True, 101: True, 103: False}
    assert "**missed**" in blocks_row(beside(103))


# -- the cases


def test_every_set_that_is_asked_for_has_a_case() -> None:
    asked = {case.data for case in cases()}
    assert {"mnist/MNIST/raw", PHOTO, "ogb/ogbn_aifb", GENERATED, "mag-synthetic"} <= asked
    above = {case.data for case in cases() if case.aim == "above"}
    assert above == {PHOTO, GENERATED, "products-synthetic"}


def smallest(case: Case) -> Case:
    """The case on a small generated set, or images, for one epoch."""
    data = {"graphsage": "products-synthetic@0.001", "rgat": "mag-synthetic@1e-5"}.get(
        case.trainable.name, "products-synthetic@0.002"
    )
    if case.trainable.name in ("lenet", "mlp"):
        return replace(case, epochs=1)
    few = {"epoch_pairs": 4000} if case.trainable.name == "node_embedding" else {}
    few = {"hidden": 8, "fanouts": (2, 2)} if case.trainable.name == "rgat" else few
    return replace(case, data=data, folder=None, epochs=1, config=replaced(case.config, few))


def write_idx(file: Path, array: NDArray[np.uint8]) -> None:
    """Write bytes as MNIST's files have them."""
    header = struct.pack(f">HBB{array.ndim}I", 0, 8, array.ndim, *array.shape)
    file.write_bytes(header + array.tobytes())


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> DataFolders:
    """A data root with 300 images for training and 100 to test on, as MNIST's files."""
    root = tmp_path_factory.mktemp("accuracy")
    raw, rng = root / "mnist/MNIST/raw", np.random.default_rng(0)
    raw.mkdir(parents=True)
    for part, count in (("train", 300), ("t10k", 100)):
        labels = rng.integers(0, 10, count).astype(np.uint8)
        images = np.zeros((count, 28, 28), np.uint8)
        images[np.arange(count), 2 * labels + 4] = 200  # a bar, the lower the higher the digit
        write_idx(raw / f"{part}-images-idx3-ubyte", images)
        write_idx(raw / f"{part}-labels-idx1-ubyte", labels)
    return DataFolders(root=root, cache=root / "cache")


@pytest.mark.parametrize("case", ONE_OF_EACH.values(), ids=ONE_OF_EACH)
def test_both_sides_run_and_finished_trainings_are_kept(
    case: Case, folders: DataFolders, tmp_path: Path
) -> None:
    file = tmp_path / "runs.jsonl"
    outcome = FinishedRuns(file).outcome(smallest(case), folders, [0])
    figures = [*outcome.difference.ours, *outcome.difference.plain]
    assert all(0 < figure <= 1 for figure in figures)
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    assert [line["figure"] for line in lines] == figures

    again = FinishedRuns(file).outcome(smallest(case), folders, [0])
    assert again == outcome  # seconds too: nothing was trained again
    assert len(file.read_text().splitlines()) == 2


@pytest.fixture
def one_thread() -> Iterator[None]:
    """Compute with one thread: several add up in an order of their own, which rounds otherwise."""
    before = torch.get_num_threads(), dgl.utils.get_num_threads()
    torch.set_num_threads(1)
    dgl.utils.set_num_threads(1)
    yield
    torch.set_num_threads(before[0])
    dgl.utils.set_num_threads(before[1])


@pytest.mark.usefixtures("one_thread")
@pytest.mark.parametrize(
    ("name", "plain"),
    [("rgat rgat_trained.rgat", plain_rgat), ("graphsage sage_dgl.graphsage", plain_graphsage)],
)
def test_plain_dgl_is_the_same_from_the_same_seed_whatever_ran_before(
    name: str, plain: Callable[..., float], folders: DataFolders
) -> None:
    """DGL's loader shuffles by numpy's global generator, which DGL's own seed leaves alone."""
    case = smallest(ONE_OF_EACH[name])
    folder = find_data(case.trainable.data, case.data).prepare(folders).path
    config = replaced(case.config, {"fanouts": (-1, -1), "batch_size": 30, "dropout": 0.0})
    found = []
    for before in range(2):
        np.random.seed(before)
        found.append(plain(config, folder, epochs=2, seed=0))
    assert len(set(found)) == 1


def test_other_settings_are_another_training(folders: DataFolders, tmp_path: Path) -> None:
    case = smallest(ONE_OF_EACH["node_embedding links.common_neighbours"])
    runs = FinishedRuns(tmp_path / "runs.jsonl")
    runs.outcome(case, folders, [0])
    runs.outcome(replace(case, config=replaced(case.config, {"lr": 0.05})), folders, [0])
    assert len((tmp_path / "runs.jsonl").read_text().splitlines()) == 4


def test_node_embedding_at_its_defaults_beats_common_neighbours_after_one_epoch(
    folders: DataFolders, tmp_path: Path
) -> None:
    case = replace(
        ONE_OF_EACH["node_embedding links.common_neighbours"], data="products-synthetic@0.003"
    )
    assert case.epochs == 1
    outcome = FinishedRuns(tmp_path / "runs.jsonl").outcome(case, folders, [0])
    assert case.is_reached(outcome.difference)


def test_our_blocks_are_the_study_s(folders: DataFolders) -> None:
    """With the old order of fan-outs the first layer would have twice the targets."""
    sizes = measured("products-synthetic@0.01", folders, batches=3)
    assert sizes.is_reached
    assert sizes.ours.last_edges == sizes.study.last_edges == 10 * sizes.batch_size


# -- the page


def test_the_page_has_both_means_the_interval_and_what_was_missed() -> None:
    case, other = cases()[:2]
    close = Outcome(
        difference=Difference(ours=[0.98, 0.982], plain=[0.981, 0.981]), ours_s=1, plain_s=2
    )
    far = Outcome(difference=Difference(ours=[0.9, 0.9], plain=[0.98, 0.98]), ours_s=1, plain_s=2)
    assert "| 0.9810 | 0.9810 | +0.00 ± 1.27 | within 0.5 | 1 / 2 |" in row(case, close)
    assert "| 0.9000 | 0.9800 | -8.00 ± 0.00 | within 0.5: **missed** |" in row(other, far)
    text = "\n".join(page({case: close, other: far}, [], [0, 1]))
    assert "- lenet, mnist/MNIST/raw, lenet: ours 0.9800, 0.9820; plain 0.9810, 0.9810" in text


def test_without_real_data_it_says_what_to_give(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("SWEEP_TEST_DATA", raising=False)
    with pytest.raises(SystemExit) as exit_:
        main([])
    assert exit_.value.code == 2
    assert "give --data-root, or set SWEEP_TEST_DATA" in capsys.readouterr().err


def test_only_goes_by_no_capitals_and_says_which_cases_there_are(folders: DataFolders) -> None:
    with pytest.raises(SystemExit, match=r"(?s)no case has 'AIFC' in its name; .*ogbn_aifb"):
        main(["--data-root", str(folders.root), "--only", "AIFC"])
    with pytest.raises(FileNotFoundError, match="ogb"):  # chosen, and there is no such folder
        main(["--data-root", str(folders.root), "--only", "AIFB"])
