"""The error for a folder in another layout than a trainable takes names the layout."""

from pathlib import Path

import numpy as np
import pytest

from orchestrator.data import DataFolders, find_data
from orchestrator.errors import DataError
from orchestrator.trainable import Trainable
from trainables.data.layouts.known import HETEROGENEOUS, HOMOGENEOUS, IMAGES, MAG240M_FILES, Layout
from trainables.data.layouts.ogb_meta import Meta, numbered, split_folder
from trainables.data.sets.mag_synthetic import MAG_SYNTHETIC
from trainables.graphsage import graphsage
from trainables.lenet import lenet
from trainables.mlp import mlp
from trainables.node_embedding import node_embedding
from trainables.rgat import rgat

TRAINABLES = (lenet, mlp, graphsage, node_embedding, rgat)
LAYOUTS = (HETEROGENEOUS, HOMOGENEOUS, IMAGES, MAG240M_FILES)


@pytest.fixture(scope="module")
def places(test_data: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A real folder of each layout, MAG240M's own generated."""
    cache = tmp_path_factory.mktemp("cache")
    mag240m = MAG_SYNTHETIC.at("1e-5").layout(DataFolders(root=cache, cache=cache))
    return {
        HETEROGENEOUS.what: test_data / "ogb/ogbn_aifb",
        HOMOGENEOUS.what: test_data / "ogb/ogbn_products",
        IMAGES.what: test_data / "mnist/MNIST/raw",
        MAG240M_FILES.what: mag240m,
    }


@pytest.mark.parametrize("layout", LAYOUTS, ids=lambda layout: layout.what)
@pytest.mark.parametrize("trainable", TRAINABLES, ids=lambda trainable: trainable.name)
def test_a_folder_is_taken_or_its_layout_named(
    trainable: Trainable[object], layout: Layout, places: dict[str, Path]
) -> None:
    """The named trainables take the layout, and the errors of the others name them."""
    folder = places[layout.what]
    if trainable.name in layout.trainables:
        assert find_data(trainable.data, str(folder)).present(DataFolders.default(Path("nowhere")))
        return
    with pytest.raises(DataError) as refused:
        find_data(trainable.data, str(folder))
    message = str(refused.value)
    assert message.startswith(f"{folder} holds {layout.what}")
    assert f"trained on by {' and '.join(layout.trainables)}" in message


UNDESCRIBED = Meta(split="", num_classes=None, both_ways=False)


def test_a_split_is_the_one_asked_for_then_the_described_then_the_only_one(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="split is missing or empty"):
        split_folder(tmp_path, UNDESCRIBED)
    (tmp_path / "split/random").mkdir(parents=True)
    described = Meta(split="time", num_classes=None, both_ways=False)
    assert split_folder(tmp_path, described, "mine").name == "mine"
    assert split_folder(tmp_path, described).name == "time"
    assert split_folder(tmp_path, UNDESCRIBED).name == "random"


def test_classes_are_numbered_only_where_their_number_is_not_described() -> None:
    labels, file = np.array([7, -1, 3, 7]), Path("labels")
    found, num_classes = numbered(labels, UNDESCRIBED, file)
    assert (found.tolist(), num_classes) == ([1, -1, 0, 1], 2)
    described = Meta(split="", num_classes=9, both_ways=False)
    kept, num_classes = numbered(labels, described, file)
    assert (kept.tolist(), num_classes) == ([7, -1, 3, 7], 9)
    with pytest.raises(DataError, match="labels:2: label -3 does not exist"):
        numbered(np.array([7, -3]), UNDESCRIBED, file)
