"""Graphs in OGB's layout: ogbn-products, or a user's.

ogbn-products has 2,449,029 products of a shop, 61.9 M pairs bought together, and 47 classes. It
is from the Open Graph Benchmark (ogb.stanford.edu).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import numpy as np

from orchestrator.data import DataFolders, PreparedData
from orchestrator.errors import DataError
from trainables.data.formats.conversion import Conversion, path_key, signature_of
from trainables.data.formats.graph_store import KIND
from trainables.data.formats.naming import folder_name
from trainables.data.formats.numbers_file import Content, measure
from trainables.data.formats.ogb_loader import download_set, node_set_release
from trainables.data.layouts.known import HOMOGENEOUS, refuse_others
from trainables.data.layouts.ogb_graph import GraphFiles, find_graph, read_graph
from trainables.data.sets.folders import existing_folder, folder_and_part, set_folder

_VERSION = 3
_NAME = "ogbn-products"
_FOLDER = "ogbn_products"
_SPLIT_SIZES: Final = {"train": 196_615, "val": 39_323, "test": 2_213_091}
"""The public split of ogbn-products: another split is another question."""


@dataclass(frozen=True, kw_only=True)
class OgbGraph:
    """The data set ``ogbn-products``, or another graph with one kind of nodes and edges.

    A classifier has an output for each class: ``num classes`` of the set's ``meta_dict.json``, or
    of OGB's list where the counts are a public set's (47 for ogbn-products), else the classes that
    occur. The folder's name decides nothing; OGB's own loader gives any graph in a folder
    ``ogbn_products`` 47 classes.

    Attributes:
        folder: Its folder, if not in its place under the data root.
        split: Folder under its ``split/``; empty: the one that is described, or the only one.
        classified: True where features, labels and a split must be there.
    """

    folder: Path | None = None
    split: str = ""
    classified: bool = True

    name = _NAME
    embedded = False
    how_to_get = (
        f"--download gets it (1.4 GB) into DATA_ROOT/{_FOLDER}, or unpack OGB's products.zip there"
    )

    def at(self, variant: str) -> OgbGraph:
        """The graph in another folder: its own, or the one that contains ``ogbn_products``.

        Args:
            variant: The folder; ``FOLDER@NAME`` names one of several splits.

        Raises:
            DataError: There is no such folder, or it is something else.
        """
        given, split = folder_and_part(variant)
        refuse_others(existing_folder(given), HOMOGENEOUS)
        return replace(self, folder=set_folder(given, [_FOLDER], holds="raw"), split=split)

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
            download_set(self.name, node_set_release(self.name), source)
        files = self._files(folders)
        part = f"{self.split}-" if self.split else ""
        conversion = Conversion(
            name=source.name,
            kind=KIND,
            source=str(source),
            key=f"{_key(source)}-{part}{path_key(source)}-v{_VERSION}",
            signature=signature_of(source, files.paths, version=_VERSION),
        )
        found = conversion.found(folders.cache)
        if found is not None:
            return found
        named = replace(conversion, name=_name_of(files))
        return named.prepare(folders.cache, lambda folder: _convert(files, folder))

    def _source(self, folders: DataFolders) -> Path:
        return self.folder or folders.root.absolute() / _FOLDER

    def _files(self, folders: DataFolders) -> GraphFiles:
        source = self._source(folders)
        if not source.is_dir():
            raise DataError(f"{self.name}: there is no folder {source}", self.how_to_get)
        refuse_others(source, HOMOGENEOUS)
        return find_graph(source, split=self.split, classified=self.classified)


OGBN_PRODUCTS = OgbGraph()
OGBN_PRODUCTS_EDGES = OgbGraph(classified=False)
"""The same for models that need neither features nor labels."""


def _key(source: Path) -> str:
    """Return the readable part of a folder's name in the cache."""
    return source.name.replace("_", "-")


def _name_of(files: GraphFiles) -> str:
    if files.public is not None and (files.public != _NAME or _has_the_split_of_the_study(files)):
        return files.public
    return folder_name(files.folder, size=f"{files.num_nodes}-nodes")


def _has_the_split_of_the_study(files: GraphFiles) -> bool:
    sizes = {name: measure(path, Content.COUNTS).num_rows for name, path in files.splits.items()}
    return sizes == _SPLIT_SIZES or not sizes


def _convert(files: GraphFiles, folder: Path) -> Mapping[str, int]:
    """Write the arrays of a graph store to ``folder``; return its facts."""
    arrays, num_classes = read_graph(files)
    for name, array in arrays.items():
        np.save(folder / f"{name}.npy", array)
    return {
        "nodes": files.num_nodes,
        "edges": len(arrays["indices"]),
        "features": files.num_features,
        "classes": num_classes,
        **{name: len(arrays[name]) for name in ("train", "val", "test")},
    }
