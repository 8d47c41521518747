"""Data sets: found by name, checked, converted once."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from orchestrator.errors import DataError, nearest
from orchestrator.locations import cache_folder, named_path


@dataclass(frozen=True, kw_only=True)
class DataFolders:
    """Folders of data sets.

    Attributes:
        root: Folder of the user's data sets. Never written to, except by a download.
        cache: Folder of converted and generated sets, on this node.
    """

    root: Path
    cache: Path

    @classmethod
    def default(cls, root: Path | None = None) -> "DataFolders":
        """Return ``root``, else ``$SWEEP_DATA``, else ``data/``; its cache."""
        root = root or named_path(os.environ.get("SWEEP_DATA") or "data", "SWEEP_DATA")
        return cls(root=root.absolute(), cache=cache_folder())  # since trials run elsewhere


@dataclass(frozen=True, kw_only=True)
class PreparedData:
    """Data set that is ready to be opened by any number of trials.

    Attributes:
        name: Value of ``data`` in every row of the trials table.
        path: Folder of memory-mapped arrays, on this node.
        fingerprint: Short hash that changes when the content does.
        facts: A few counts worth printing (nodes, edges, images, classes); may be empty.
    """

    name: str
    path: Path
    fingerprint: str
    facts: Mapping[str, int] = field(default_factory=dict)


class DataSet(Protocol):
    """Data set by name. Implementations live in ``trainables/data``."""

    @property
    def name(self) -> str:
        """Name on the command line and in every row, such as ``ogbn-products``."""

    @property
    def embedded(self) -> bool:
        """True where it is generated or comes inside a dependency, and so is always there."""

    @property
    def how_to_get(self) -> str:
        """Line that names the way to get it."""

    def at(self, variant: str) -> "DataSet":
        """Return another size of the set (``products-synthetic@0.1``), or another folder of it.

        Raises:
            DataError: The set has no such variant.
        """

    def present(self, folders: DataFolders) -> bool:
        """Return True if it can be prepared without a download."""

    def name_in(self, folders: DataFolders) -> str:
        """Return the name that a set that is present has once it is prepared, by its headers.

        Raises:
            DataError: The set is absent, unreadable, or of another kind.
        """

    def prepare(self, folders: DataFolders, *, download: bool = False) -> PreparedData:
        """Check the set and convert it once into ``folders.cache``.

        Safe to call from several processes at once; later calls find the result.

        Raises:
            DataError: The set is absent and ``download`` is false, or its content is wrong; the
                message names the file and the value.
        """


def find_data(sets: Sequence[DataSet], name: str) -> DataSet:
    """Return the data set that ``--data NAME_OR_PATH`` names.

    Args:
        sets: Sets that the trainable can be trained on; a path is another folder of the first.
        name: ``name``, ``name@variant`` or a path.

    Raises:
        DataError: There is no such name, variant or folder.
    """
    base, _, variant = name.partition("@")
    by_name = {data.name: data for data in sets}
    if base in by_name:
        found = by_name[base]
        return found.at(variant) if variant else found
    if is_path(sets, name):
        return sets[0].at(name)
    raise DataError(
        f"unknown data {name!r}{nearest(base, by_name)}",
        f"allowed: {', '.join(by_name) or 'none: the trainable declares no data'}, or a folder",
    )


def is_path(sets: Sequence[DataSet], name: str) -> bool:
    """Return True if ``name`` is a folder rather than one of the sets."""
    known = name.partition("@")[0] in {data.name for data in sets}
    folder = Path(name.rpartition("@")[0] or name)  # FOLDER@PART: one of the sets in it
    return bool(sets) and not known and (os.sep in name or Path(name).is_dir() or folder.is_dir())
