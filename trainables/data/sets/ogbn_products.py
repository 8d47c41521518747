"""ogbn-products: 2,449,029 products of a shop, 61.9 M pairs bought together, 47 classes.

From the Open Graph Benchmark (ogb.stanford.edu), read through its own loader.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from orchestrator.data import DataFolders, PreparedData
from orchestrator.errors import DataError
from trainables.data.formats.arrays import Array
from trainables.data.formats.checks import check_finite, check_range, check_splits, lines
from trainables.data.formats.conversion import Conversion, path_key, signature_of
from trainables.data.formats.csc import compressed
from trainables.data.formats.graph_store import KIND
from trainables.data.formats.numbers_file import (
    Content,
    Said,
    Table,
    check_every_field,
    measure,
    require,
    single_count,
)
from trainables.data.formats.ogb_loader import (
    download_set,
    link_layout,
    load_node_set,
    node_set_release,
)
from trainables.data.sets.folders import set_folder

NUM_CLASSES = 47

_VERSION = 1
_RELEASE = 1
_NAME = "ogbn-products"
_FOLDER = "ogbn_products"
_NODES = "raw/num-node-list.csv.gz"
_EDGES = "raw/num-edge-list.csv.gz"
_EDGE = "raw/edge.csv.gz"
_FEATURES = "raw/node-feat.csv.gz"
_LABELS = "raw/node-label.csv.gz"
_SPLITS = {
    "train": "split/sales_ranking/train.csv.gz",
    "val": "split/sales_ranking/valid.csv.gz",
    "test": "split/sales_ranking/test.csv.gz",
}
_FILES = (_NODES, _EDGES, _EDGE, _FEATURES, _LABELS, *_SPLITS.values())


@dataclass(frozen=True, kw_only=True)
class OgbnProducts:
    """The data set ``ogbn-products``, or anything else in its layout.

    Attributes:
        folder: Where it is, if not in its place under the data root.
    """

    folder: Path | None = None

    name = _NAME
    embedded = False
    how_to_get = (
        f"--download gets it (1.4 GB) into DATA_ROOT/{_FOLDER}, or unpack OGB's products.zip there"
    )

    def at(self, variant: str) -> OgbnProducts:
        """The set in another folder: its own, or the one that holds ``ogbn_products``.

        Raises:
            DataError: There is no such folder, or it is something else.
        """
        return replace(self, folder=set_folder(variant, [_FOLDER], holds="raw"))

    def present(self, folders: DataFolders) -> bool:
        """Return True if it can be prepared without a download."""
        return self._source(folders).is_dir()

    def prepare(self, folders: DataFolders, *, download: bool = False) -> PreparedData:
        """Check it and converts it once. See :class:`orchestrator.data.DataSet`."""
        source = self._source(folders)
        if not source.is_dir():
            if not download:
                raise DataError(f"{self.name}: there is no folder {source}", self.how_to_get)
            download_set(self.name, node_set_release(self.name), source)
        conversion = Conversion(
            name=self.name,
            kind=KIND,
            source=str(source),
            key=f"{self.name}-{path_key(source)}-v{_VERSION}",
            signature=signature_of(source, [source / name for name in _FILES], version=_VERSION),
        )
        return conversion.prepare(folders.cache, lambda folder: _convert(source, folder))

    def _source(self, folders: DataFolders) -> Path:
        return self.folder or folders.root.absolute() / _FOLDER


OGBN_PRODUCTS = OgbnProducts()


def _convert(source: Path, folder: Path) -> Mapping[str, int]:
    """Write the arrays of a graph store to ``folder``; returns its facts."""
    for name in _FILES:
        require(source / name)  # else OGB's loader would download the set
    num_nodes = single_count(source / _NODES)
    # The checks are mostly unpacking, which a thread does beside OGB's reading.
    with ThreadPoolExecutor(max_workers=1) as pool:
        checks = [pool.submit(check) for check in _checks(source, num_nodes)]
        try:
            arrays = _read(source, folder)
        except DataError:
            _results(checks)
            _check_edges(source / _EDGE, num_nodes)
            check_every_field(source / _FEATURES, Content.REALS)
            raise
        _results(checks)
    _check_arrays(source, arrays, num_nodes)
    for name, array in arrays.items():
        np.save(folder / f"{name}.npy", array)
    return {
        "nodes": num_nodes,
        "edges": len(arrays["indices"]),
        "features": arrays["features"].shape[1],
        "classes": NUM_CLASSES,
        **{name: len(arrays[name]) for name in _SPLITS},
    }


def _checks(source: Path, num_nodes: int) -> list[Callable[[], Table]]:
    """Check of the form and the size of all files."""
    nodes = Said(num_nodes, source / _NODES)
    edges = Said(single_count(source / _EDGES), source / _EDGES)
    return [
        partial(measure, source / _EDGE, Content.COUNTS, columns=2, rows=edges),
        partial(measure, source / _LABELS, Content.COUNTS, columns=1, rows=nodes),
        partial(measure, source / _FEATURES, Content.REALS, rows=nodes),
        *(partial(measure, source / s, Content.COUNTS, columns=1) for s in _SPLITS.values()),
    ]


def _results(checks: Sequence[Future[Table]]) -> None:
    for check in checks:
        check.result()


def _read(source: Path, folder: Path) -> dict[str, Array]:
    with TemporaryDirectory(dir=folder) as scratch:
        link_layout(source, Path(scratch) / _FOLDER, _FILES, version=_RELEASE)
        loaded = load_node_set(_NAME, Path(scratch))
        try:
            return _arrays(loaded)
        except (KeyError, IndexError, ValueError, OSError) as error:
            raise DataError(
                f"OGB's loader gives no graph for {source}: {type(error).__name__}: {error}"
            ) from error


def _arrays(loaded: Any) -> dict[str, Array]:  # noqa: ANN401 - OGB has no types
    """Return what OGB's loader gives, as the arrays of a graph store."""
    graph, labels = loaded[0]
    sources, targets = (ends.numpy() for ends in graph.edges())
    indptr, indices = compressed(sources, targets, graph.num_nodes())
    splits = loaded.get_idx_split()
    return {
        "indptr": indptr,
        "indices": indices,
        "features": graph.ndata["feat"].numpy().astype(np.float32, copy=False),
        "labels": labels.numpy().reshape(-1),
        "train": splits["train"].numpy(),
        "val": splits["valid"].numpy(),
        "test": splits["test"].numpy(),
    }


def _check_arrays(source: Path, arrays: dict[str, Array], num_nodes: int) -> None:
    check_range(arrays["labels"], NUM_CLASSES, lines(source / _LABELS), "label")
    check_finite(arrays["features"], lines(source / _FEATURES))
    splits = {name: arrays[name] for name in _SPLITS}
    check_splits(splits, {name: lines(source / f) for name, f in _SPLITS.items()}, num_nodes)
    arrays.update({name: np.sort(nodes) for name, nodes in splits.items()})


def _check_edges(file: Path, num_nodes: int) -> None:
    """Find the fault that DGL saw. Reads the file once more, so only where there is one."""
    import pandas as pd

    edges = pd.read_csv(file, compression="gzip", header=None).to_numpy()
    check_range(edges, num_nodes, lines(file), "node")
