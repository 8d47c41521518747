"""OGB's layout of a graph with one kind of nodes and edges: found, checked, read.

``raw/`` contains ``num-node-list.csv.gz``, ``num-edge-list.csv.gz`` and ``edge.csv.gz``; for a
classifier also ``node-feat.csv.gz``, ``node-label.csv.gz`` and ``split/<name>/`` with
``train``, ``valid`` and ``test.csv.gz``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from orchestrator.errors import DataError
from trainables.data.formats.arrays import Array
from trainables.data.formats.checks import (
    check_finite,
    check_labelled,
    check_range,
    check_splits,
    lines,
)
from trainables.data.formats.csc import doubled, pack, undirected, unpack
from trainables.data.formats.naming import public_name
from trainables.data.formats.numbers_file import (
    Content,
    Said,
    Table,
    check_every_field,
    columns_of,
    measure,
    require,
    single_count,
)
from trainables.data.formats.relational_store import UNLABELLED
from trainables.data.layouts.ogb_meta import META, Meta, numbered, read_meta, split_folder

NODES = "raw/num-node-list.csv.gz"
EDGES = "raw/num-edge-list.csv.gz"
EDGE = "raw/edge.csv.gz"
FEATURES = "raw/node-feat.csv.gz"
LABELS = "raw/node-label.csv.gz"
SPLITS = {"train": "train", "val": "valid", "test": "test"}
"""Our names of the splits, and OGB's."""
_MOST_NODES = (1 << 31) - 1


@dataclass(frozen=True, kw_only=True)
class GraphFiles:
    """Files of a graph, and the content of their headers.

    Attributes:
        folder: The set's own.
        meta: Its description.
        public: Public set with as many nodes and edges, or None.
        num_nodes: Number of nodes.
        num_edges: Rows of the file of edges.
        num_features: Features of a node; 0 where there is no classification.
        splits: Files of the split by our names; empty where there is no classification, which
            takes features, labels and a split.
    """

    folder: Path
    meta: Meta
    public: str | None
    num_nodes: int
    num_edges: int
    num_features: int
    splits: Mapping[str, Path]

    @property
    def paths(self) -> list[Path]:
        """All files that the graph is read from, its description included."""
        names = [META, NODES, EDGES, EDGE, *((FEATURES, LABELS) if self.splits else ())]
        return [*(self.folder / name for name in names), *self.splits.values()]


def find_graph(folder: Path, *, split: str = "", classified: bool) -> GraphFiles:
    """Read the headers of the files of a graph.

    Args:
        folder: The set's own.
        split: The split that the user asked for, or empty.
        classified: True where features, labels and a split must be there.

    Raises:
        DataError: A file is missing, is no gzip file, or gives no counts.
    """
    for name in (NODES, EDGES, EDGE):
        require(folder / name)
    num_nodes, num_edges = single_count(folder / NODES), single_count(folder / EDGES)
    if not 1 <= num_nodes <= _MOST_NODES:
        raise DataError(f"{folder / NODES}: {num_nodes:,} nodes", f"allowed: 1 to {_MOST_NODES:,}")
    columns_of(folder / EDGE)
    public = public_name({"nodes": num_nodes, "edges": num_edges})
    meta = read_meta(folder, hetero=False, public=public)
    for_classes = [folder / name for name in (FEATURES, LABELS, "split")]
    complete = all(path.exists() for path in for_classes) and columns_of(folder / LABELS) == 1
    splits: dict[str, Path] = {}
    if classified or complete:
        for path in for_classes:
            _require_for_classes(path)
        _require_one_label(folder / LABELS)
        home = split_folder(folder, meta, split)
        splits = {ours: home / f"{theirs}.csv.gz" for ours, theirs in SPLITS.items()}
        for path in splits.values():
            require(path)
    return GraphFiles(
        folder=folder,
        meta=meta,
        public=public,
        num_nodes=num_nodes,
        num_edges=num_edges,
        num_features=columns_of(folder / FEATURES) if splits else 0,
        splits=splits,
    )


def _require_for_classes(path: Path) -> None:
    if not path.exists():
        raise DataError(
            f"{path} is missing",
            "a classifier needs features, labels and a split; node_embedding needs edges alone",
        )


def _require_one_label(path: Path) -> None:
    if (num_labels := columns_of(path)) != 1:
        raise DataError(f"{path}: {num_labels} labels of each node", "expected one, its class")


def read_graph(files: GraphFiles) -> tuple[dict[str, Array], int]:
    """Check all files and read them.

    Returns:
        The arrays of a graph store, and the number of classes; 0 without a classification,
        where no node has a feature or a label.

    Raises:
        DataError: Names the file, and the line where there is one.
    """
    # The checks are mostly unpacking, which a thread does during the reading.
    with ThreadPoolExecutor(max_workers=1) as pool:
        checks = [pool.submit(check) for check in _checks(files)]
        try:
            edges, tables = _tables(files)
        except Exception as error:  # pandas' errors name no line: the checks do
            _results(checks)
            _check_every_field(files)
            raise DataError(
                f"{files.folder} cannot be read: {type(error).__name__}: {error}"
            ) from error
        _results(checks)
    check_range(edges, files.num_nodes, lines(files.folder / EDGE), "node")
    arrays = dict(zip(("indptr", "indices"), _columns(edges, files), strict=True))
    del edges
    if not tables:
        return arrays | _nothing(files.num_nodes), 0
    labels, num_classes = numbered(tables["labels"], files.meta, files.folder / LABELS)
    return arrays | _classification(files, {**tables, "labels": labels}), num_classes


def _checks(files: GraphFiles) -> list[Callable[[], Table]]:
    """Check of the form and the size of all files."""
    folder = files.folder
    nodes = Said(files.num_nodes, folder / NODES)
    edges = Said(files.num_edges, folder / EDGES)
    checks: list[Callable[[], Table]] = [
        partial(measure, folder / EDGE, Content.COUNTS, columns=2, rows=edges)
    ]
    if files.splits:
        checks += [
            partial(measure, folder / LABELS, Content.LABELS, columns=1, rows=nodes),
            partial(measure, folder / FEATURES, Content.REALS, rows=nodes),
            *(
                partial(measure, split, Content.COUNTS, columns=1)
                for split in files.splits.values()
            ),
        ]
    return checks


def _results(checks: Sequence[Future[Table]]) -> None:
    for check in checks:
        check.result()


def _check_every_field(files: GraphFiles) -> None:
    check_every_field(files.folder / EDGE, Content.COUNTS)
    if files.splits:
        check_every_field(files.folder / LABELS, Content.LABELS)
        check_every_field(files.folder / FEATURES, Content.REALS)
        for split in files.splits.values():
            check_every_field(split, Content.COUNTS)


def _tables(files: GraphFiles) -> tuple[Array, dict[str, Array]]:
    """Read the edges, ``(edges, 2)``, and what the classification takes, by array."""
    edges = _whole(_numbers(files.folder / EDGE))
    if not files.splits:
        return edges, {}
    labels = _numbers(files.folder / LABELS)[:, 0]
    if labels.dtype.kind == "f":  # some are nan, or have a fraction, which a class must not
        check_every_field(files.folder / LABELS, Content.LABELS)
        labels = np.nan_to_num(labels, nan=UNLABELLED)
    with np.errstate(over="ignore"):  # what becomes inf is refused, with its line
        # Row by row, whatever pandas has: a node's features are read together.
        features = _numbers(files.folder / FEATURES).astype(np.float32, order="C")
    splits = {name: _numbers(path)[:, 0] for name, path in files.splits.items()}
    given = {"features": features, "labels": labels, **splits}
    return edges, {
        name: array if name == "features" else _whole(array) for name, array in given.items()
    }


def _whole(array: Array) -> Array:
    """Return the numbers as integers; a separate check refuses those that are none."""
    with np.errstate(invalid="ignore"):
        return array.astype(np.int64)


def _numbers(path: Path) -> Array:
    import pandas as pd

    table: Array = pd.read_csv(path, compression="gzip", header=None).to_numpy()
    return table


def _columns(edges: Array, files: GraphFiles) -> tuple[Array, Array]:
    """Compressed columns of the undirected graph."""
    keys = pack(edges[:, 1], edges[:, 0])
    both = doubled(keys) if files.meta.both_ways else undirected(keys)
    return unpack(both, files.num_nodes)


def _nothing(num_nodes: int) -> dict[str, Array]:
    """Return the features, labels and splits of a set that has only edges."""
    return {
        "features": np.empty((num_nodes, 0), dtype=np.float32),
        "labels": np.full(num_nodes, UNLABELLED, dtype=np.int64),
        **{name: np.empty(0, dtype=np.int64) for name in SPLITS},
    }


def _classification(files: GraphFiles, tables: Mapping[str, Array]) -> dict[str, Array]:
    """Return features, labels and splits, checked."""
    check_finite(tables["features"], lines(files.folder / FEATURES))
    splits = {name: tables[name] for name in SPLITS}
    places = {name: lines(path) for name, path in files.splits.items()}
    check_splits(splits, places, files.num_nodes)
    check_labelled(splits, places, tables["labels"], lines(files.folder / LABELS))
    return {**tables, **{name: np.sort(nodes) for name, nodes in splits.items()}}
