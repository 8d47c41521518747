"""Images in MNIST's format: mnist, with 60,000 + 10,000 handwritten digits, or a user's."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from contextlib import redirect_stdout
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from orchestrator.data import DataFolders, PreparedData
from orchestrator.errors import DataError
from trainables.data.formats.conversion import Conversion, path_key, signature_of
from trainables.data.formats.downloads import arriving
from trainables.data.formats.image_data import KIND, save_images
from trainables.data.formats.naming import folder_name
from trainables.data.formats.packages import needing
from trainables.data.layouts.images import ImageFiles, find_images, read_images
from trainables.data.layouts.known import IMAGES, refuse_others
from trainables.data.sets.folders import existing_folder, folder_and_part, set_folder

_VERSION = 2
_NAME = "mnist"
_FINGERPRINT = "d90564fb64a7a31ded6922e8c4d631c4"
"""MNIST's fingerprint; sets of its size and layout, such as Fashion-MNIST, have others."""
_PLACES: Final = ("mnist/MNIST/raw", "MNIST/raw")
"""Torchvision's folders for it, under a data root or under a folder ``mnist`` there."""
_PLACES_BELOW: Final = (*_PLACES, "raw", "gzip")


@dataclass(frozen=True, kw_only=True)
class Mnist:
    """The data set ``mnist``, or other images of 28 x 28 pixels in its format.

    Attributes:
        folder: Folder of its four files, if not in their place under the data root.
        part: The set to take if the folder has several, for example ``letters``.
    """

    folder: Path | None = None
    part: str = ""

    name = _NAME
    embedded = False
    how_to_get = f"--download gets it (12 MB), or put its four files into DATA_ROOT/{_PLACES[0]}"

    def at(self, variant: str) -> Mnist:
        """The set in another folder: that of its files, or one above.

        Args:
            variant: The folder; ``FOLDER@PART`` names one of several sets in it.

        Raises:
            DataError: There is no such folder, or it is something else.
        """
        given, part = folder_and_part(variant)
        refuse_others(existing_folder(given), IMAGES)
        folder = set_folder(given, _PLACES_BELOW, holds="*idx?-ubyte*")
        return replace(self, folder=folder, part=part)

    def present(self, folders: DataFolders) -> bool:
        """Return True if it can be prepared without a download."""
        return self._source(folders).is_dir()

    def name_in(self, folders: DataFolders) -> str:
        """Return its name. See :class:`orchestrator.data.DataSet`."""
        return _name_of(self._files(folders))

    def prepare(self, folders: DataFolders, *, download: bool = False) -> PreparedData:
        """Check it and convert it once. See :class:`orchestrator.data.DataSet`."""
        source = self._source(folders)
        if not source.is_dir() and download:
            _download(self.name, folders.root.absolute())
        files = self._files(folders)
        label = files.prefix or _NAME
        conversion = Conversion(
            name=label,
            kind=KIND,
            source=str(source),
            key=f"{label}-{path_key(source)}-v{_VERSION}",
            signature=signature_of(source, files.paths.values(), version=_VERSION),
        )
        found = conversion.found(folders.cache)
        if found is not None:
            return found
        named = replace(conversion, name=_name_of(files))
        return named.prepare(folders.cache, lambda folder: _convert(files, folder))

    def _source(self, folders: DataFolders) -> Path:
        if self.folder is not None:
            return self.folder
        places = [folders.root.absolute() / place for place in _PLACES]
        return next((place for place in places if place.is_dir()), places[0])

    def _files(self, folders: DataFolders) -> ImageFiles:
        source = self._source(folders)
        if not source.is_dir():
            raise DataError(f"{self.name}: there is no folder {source}", self.how_to_get)
        return find_images(source, self.part)


MNIST = Mnist()


def _name_of(files: ImageFiles) -> str:
    if files.fingerprint() == _FINGERPRINT:
        return _NAME
    size = f"{files.num_train + files.num_test}-images"
    return folder_name(files.folder / files.prefix, size=size)


def _convert(files: ImageFiles, folder: Path) -> Mapping[str, int]:
    return save_images(folder, read_images(files))


def _download(name: str, root: Path) -> None:
    with needing("torchvision", f"downloading {name}"):
        from torchvision import datasets

    with arriving(name, root) as folder, redirect_stdout(sys.stderr):
        datasets.MNIST(str(folder), download=True)
        (root / _PLACES[0]).parent.parent.mkdir(exist_ok=True)
        (folder / "MNIST").rename(root / _PLACES[0].removesuffix("/raw"))
