"""mnist: 60,000 + 10,000 handwritten digits of 28 x 28 pixels, read through torchvision."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from contextlib import redirect_stdout
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from orchestrator.data import DataFolders, PreparedData
from orchestrator.errors import DataError
from trainables.data.formats.arrays import Array
from trainables.data.formats.conversion import Conversion, path_key, signature_of
from trainables.data.formats.downloads import arriving
from trainables.data.formats.idx import Expected, read_idx
from trainables.data.formats.image_data import KIND, NUM_CLASSES, SIDE, save_images
from trainables.data.formats.packages import needing
from trainables.data.sets.folders import existing_folder, set_folder
from trainables.data.sets.layouts import IMAGES, refuse_others

_VERSION = 1
_PLACES = ("mnist/MNIST/raw", "MNIST/raw")
"""Where torchvision puts it under a data root, or under a folder of its own there."""

_FILES = {
    "train-images-idx3-ubyte": Expected(shape=(60_000, SIDE, SIDE)),
    "train-labels-idx1-ubyte": Expected(shape=(60_000,), limit=NUM_CLASSES),
    "t10k-images-idx3-ubyte": Expected(shape=(10_000, SIDE, SIDE)),
    "t10k-labels-idx1-ubyte": Expected(shape=(10_000,), limit=NUM_CLASSES),
}

_ARRAYS = dict(
    zip(_FILES, ("train_images", "train_labels", "test_images", "test_labels"), strict=True)
)


@dataclass(frozen=True, kw_only=True)
class Mnist:
    """The data set ``mnist``, or anything else in its layout (Fashion-MNIST, say).

    Attributes:
        folder: Where its four files are, if not in their place under the data root.
    """

    folder: Path | None = None

    name = "mnist"
    embedded = False
    how_to_get = f"--download gets it (12 MB), or put its four files into DATA_ROOT/{_PLACES[0]}"

    def at(self, variant: str) -> Mnist:
        """The set in another folder: that of its files, or one above.

        Raises:
            DataError: There is no such folder, or it is something else.
        """
        refuse_others(existing_folder(variant), IMAGES)
        folder = set_folder(variant, (*_PLACES, "raw"), holds="*-idx?-ubyte*")
        return replace(self, folder=folder)

    def present(self, folders: DataFolders) -> bool:
        """Return True if it can be prepared without a download."""
        return self._source(folders).is_dir()

    def prepare(self, folders: DataFolders, *, download: bool = False) -> PreparedData:
        """Check it and converts it once. See :class:`orchestrator.data.DataSet`."""
        source = self._source(folders)
        if not source.is_dir():
            if not download:
                raise DataError(f"{self.name}: there is no folder {source}", self.how_to_get)
            _download(self.name, folders.root.absolute())
        files = [_packed_or_not(source / name) for name in _FILES]
        conversion = Conversion(
            name=self.name,
            kind=KIND,
            source=str(source),
            key=f"{self.name}-{path_key(source)}-v{_VERSION}",
            signature=signature_of(source, files, version=_VERSION),
        )
        return conversion.prepare(folders.cache, lambda folder: _convert(files, folder))

    def _source(self, folders: DataFolders) -> Path:
        if self.folder is not None:
            return self.folder
        places = [folders.root.absolute() / place for place in _PLACES]
        return next((place for place in places if place.is_dir()), places[0])


MNIST = Mnist()


def _packed_or_not(file: Path) -> Path:
    return file if file.exists() else file.with_name(f"{file.name}.gz")


def _download(name: str, root: Path) -> None:
    with needing("torchvision", f"downloading {name}"):
        from torchvision import datasets

    with arriving(name, root) as folder, redirect_stdout(sys.stderr):
        datasets.MNIST(str(folder), download=True)
        (root / _PLACES[0]).parent.parent.mkdir(exist_ok=True)
        (folder / "MNIST").rename(root / _PLACES[0].removesuffix("/raw"))


def _convert(files: list[Path], folder: Path) -> Mapping[str, int]:
    arrays = {}
    for file, (name, expected) in zip(files, _FILES.items(), strict=True):
        if not file.exists():
            raise DataError(f"{file} is missing", f"expected it beside {files[0]}, packed or not")
        arrays[_ARRAYS[name]] = read_idx(file, expected)
    if _has_torchvision():
        with TemporaryDirectory(dir=folder) as scratch:
            _unpack(files, Path(scratch) / "MNIST" / "raw")
            arrays = {**_read(scratch, train=True), **_read(scratch, train=False)}
    return save_images(folder, arrays)


def _has_torchvision() -> bool:
    """Return True if it is installed and fits the installed torch. The checks are the same."""
    try:
        from torchvision import datasets  # noqa: F401
    except (ImportError, RuntimeError):
        return False
    return True


def _unpack(files: list[Path], raw: Path) -> None:
    """Unpack as torchvision does on a download, without the bytes of the packed files."""
    from torchvision.datasets.utils import extract_archive

    raw.mkdir(parents=True)
    for file in files:
        if file.suffix == ".gz":
            extract_archive(str(file), str(raw))
        else:
            (raw / file.name).symlink_to(file.resolve())


def _read(root: str, *, train: bool) -> dict[str, Array]:
    from torchvision import datasets

    part = datasets.MNIST(root, train=train, download=False)
    name = "train" if train else "test"
    return {f"{name}_images": part.data.numpy(), f"{name}_labels": part.targets.numpy()}
