"""A user's images in MNIST's format: any number, any classes, several sets in a folder."""

import gzip
import struct
from pathlib import Path

import numpy as np
import pytest

from orchestrator import DataFolders
from orchestrator.data import find_data
from orchestrator.errors import DataError
from tests.trainables.data.conftest import copied
from tests.trainables.running import context, train_once
from trainables.data.formats.arrays import Array
from trainables.data.formats.image_data import ImageData
from trainables.data.sets.mnist import MNIST
from trainables.lenet import LeNetConfig, lenet
from trainables.mlp import MlpConfig, mlp


def write(path: Path, values: Array) -> None:
    """Write an IDX file, compressed if its name ends so."""
    header = struct.pack(f">{1 + values.ndim}I", 0x800 + values.ndim, *values.shape)
    content = header + values.astype(np.uint8).tobytes()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)


def write_set(folder: Path, prefix: str, labels: Array, test: str = "t10k") -> None:
    """Write images with the brightness of their label, and a test part of the same ones."""
    images = np.repeat(labels * 20, 28 * 28).reshape(-1, 28, 28)
    for part in ("train", test):
        write(folder / f"{prefix}{part}-images-idx3-ubyte.gz", images)
        write(folder / f"{prefix}{part}-labels-idx1-ubyte", labels)


@pytest.fixture
def emnist(tmp_path: Path) -> Path:
    """Two sets in one folder, as EMNIST's archive has them; letters begin with 1."""
    folder = tmp_path / "emnist" / "gzip"
    write_set(folder, "emnist-letters-", np.tile(np.arange(1, 4), 8), test="test")
    write_set(folder, "emnist-digits-", np.tile(np.arange(2), 10), test="test")
    return folder


@pytest.mark.parametrize("given", ["emnist/gzip@letters", "emnist@emnist-letters"])
def test_one_of_several_sets_is_named(emnist: Path, folders: DataFolders, given: str) -> None:
    data = MNIST.at(str(emnist.parents[1] / given))
    prepared = data.prepare(folders)
    assert data.name_in(folders) == prepared.name == "emnist-letters"
    images = ImageData.open(prepared.path)
    assert images.num_classes == 3
    assert images.train_labels[:4].tolist() == [0, 1, 2, 0], "numbered from 0"


def test_of_several_sets_all_are_listed(emnist: Path, folders: DataFolders) -> None:
    with pytest.raises(DataError, match="several sets of images: emnist-digits, emnist-l") as two:
        MNIST.at(str(emnist)).name_in(folders)
    assert two.value.hint == f"name one: --data {emnist}@digits"
    with pytest.raises(DataError, match="no images 'leters'; did you mean 'letters'"):
        MNIST.at(f"{emnist}@leters").name_in(folders)


def test_mnist_s_size_alone_is_not_mnist(
    test_data: Path, tmp_path: Path, folders: DataFolders
) -> None:
    """As many images, one label of them another: Fashion-MNIST's differ in all."""
    folder = copied(test_data / "mnist" / "MNIST" / "raw", tmp_path / "fashion" / "MNIST" / "raw")
    assert MNIST.at(str(folder)).name_in(folders) == "mnist"
    packed = folder / "train-labels-idx1-ubyte.gz"
    content = bytearray(gzip.decompress(packed.read_bytes()))
    content[-1] = (content[-1] + 1) % 10
    packed.write_bytes(gzip.compress(bytes(content)))
    assert MNIST.at(str(folder)).name_in(folders) == "fashion"


@pytest.mark.parametrize(
    ("trainable", "config"),
    [(lenet, LeNetConfig(data_path="batched", batch_size=8)), (mlp, MlpConfig(batch_size=8))],
    ids=["lenet", "mlp"],
)
def test_a_network_has_as_many_outputs_as_there_are_classes(
    emnist: Path, trainable: object, config: object
) -> None:
    data = find_data(trainable.data, f"{emnist}@digits")  # type: ignore[attr-defined]
    reports = train_once(trainable, config, context(data, evaluate_test=True))  # type: ignore[arg-type]
    assert reports.metric("test_auc"), "two outputs, so that there is an AUC"
