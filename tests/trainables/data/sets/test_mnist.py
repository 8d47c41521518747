import gzip
import shutil
import struct
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from orchestrator.data import DataFolders, PreparedData
from orchestrator.errors import DataError
from tests.trainables.data.conftest import assert_named, copied, state
from trainables.data.formats.image_data import ImageData
from trainables.data.sets.mnist import MNIST

TRAIN_IMAGES, TRAIN_LABELS = "train-images-idx3-ubyte.gz", "train-labels-idx1-ubyte.gz"
TEST_IMAGES, TEST_LABELS = "t10k-images-idx3-ubyte.gz", "t10k-labels-idx1-ubyte.gz"


@pytest.fixture
def raw(test_data: Path, tmp_path: Path) -> Path:
    """A writable copy of MNIST's four files."""
    return copied(test_data / "mnist" / "MNIST" / "raw", tmp_path / "root/mnist/MNIST/raw")


@pytest.fixture(scope="module")
def prepared(test_data: Path, tmp_path_factory: pytest.TempPathFactory) -> PreparedData:
    """MNIST as it is on this machine, converted."""
    return MNIST.prepare(DataFolders(root=test_data, cache=tmp_path_factory.mktemp("cache")))


def test_equals_what_torchvision_loads(
    prepared: PreparedData, test_data: Path, tmp_path: Path
) -> None:
    from torchvision.datasets import MNIST as Torchvision

    copied(test_data / "mnist" / "MNIST", tmp_path / "MNIST")
    reference = {
        train: Torchvision(tmp_path, train=train, download=True) for train in (True, False)
    }

    images = ImageData.open(prepared.path)

    assert prepared.name == images.name == "mnist"
    assert prepared.facts == {"train": 60_000, "test": 10_000, "classes": 10}
    assert torch.equal(images.train_images, reference[True].data)
    assert torch.equal(images.train_labels, reference[True].targets)
    assert torch.equal(images.test_images, reference[False].data)
    assert torch.equal(images.test_labels, reference[False].targets)


def test_writes_nothing_to_its_input_folder(
    raw: Path, folders: DataFolders, capfd: pytest.CaptureFixture[str], no_network: None
) -> None:
    before = state(folders.root)
    MNIST.prepare(folders)
    assert state(folders.root) == before
    assert capfd.readouterr() == ("", "")


def test_absent(folders: DataFolders, no_network: None) -> None:
    assert not MNIST.present(folders)
    with pytest.raises(DataError, match="mnist: there is no folder") as error:
        MNIST.prepare(folders)
    assert "--download" in error.value.hint


def idx(*values: int, content: bytes) -> bytes:
    """A packed file: magic number, shape, content."""
    return gzip.compress(struct.pack(f">{len(values)}I", *values) + content, compresslevel=1)


def changed_label(value: int) -> bytes:
    return idx(0x801, 10_000, content=bytes([*([1] * 4999), value, *([1] * 5000)]))


Break = Callable[[Path], object]

FAULTS: dict[str, tuple[Break, str]] = {
    "wrong magic number": (
        lambda raw: (raw / TEST_LABELS).write_bytes(idx(0x901, 10_000, content=bytes(10_000))),
        f"{TEST_LABELS} is not what its name says: magic number 2305\n  expected 2049",
    ),
    "train for test": (
        lambda raw: shutil.copy(raw / TRAIN_LABELS, raw / TEST_LABELS),
        f"{TEST_LABELS}: 60000 labels\n",
    ),
    "other images": (
        lambda raw: (raw / TEST_IMAGES).write_bytes(idx(0x803, 10_000, 27, 27, content=b"")),
        f"{TEST_IMAGES}: images of 27 x 27 pixels\n  the networks here take 28 x 28",
    ),
    "a label too large": (
        lambda raw: (raw / TEST_LABELS).write_bytes(changed_label(10)),
        f"{TEST_LABELS}: item 5000 is 10\n  no training image has this label; they have 0 to 9",
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_named(raw: Path, folders: DataFolders, fault: str) -> None:
    assert_named(FAULTS[fault], MNIST, raw, folders)
