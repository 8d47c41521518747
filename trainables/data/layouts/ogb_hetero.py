"""OGB's layout of a heterogeneous graph: found, checked, read with OGB's own functions.

``raw/`` contains ``num-node-dict.csv.gz`` (node types), ``triplet-type-list.csv.gz``
(relations), ``relations/<source>___<name>___<target>/edge.csv.gz``, features in
``node-feat/`` where there are any, and labels in ``node-label/``; ``split/`` the splits.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from orchestrator.errors import DataError, nearest
from orchestrator.texts import bounded_name
from trainables.data.formats.arrays import Array
from trainables.data.formats.checks import (
    check_finite,
    check_labelled,
    check_range,
    check_splits,
    lines,
)
from trainables.data.formats.naming import public_name
from trainables.data.formats.numbers_file import (
    Content,
    Said,
    check_every_field,
    measure,
    require,
    single_count,
    text_rows,
)
from trainables.data.formats.ogb_loader import quiet_ogb
from trainables.data.formats.relational_store import UNLABELLED
from trainables.data.layouts.ogb_meta import Meta, numbered, read_meta, split_folder

NODES = "raw/num-node-dict.csv.gz"
TRIPLETS = "raw/triplet-type-list.csv.gz"
HAS_LABEL = "raw/nodetype-has-label.csv.gz"
HAS_SPLIT = "nodetype-has-split.csv.gz"
_MOST_DIGITS = 18
"""Most decimal digits of a number that always fits in 64 bits."""
SPLITS = ("train", "valid", "test")

Triplet = tuple[str, str, str]


@dataclass(frozen=True, kw_only=True, eq=False)
class HeteroGraph:
    """Content of the files.

    Attributes:
        num_nodes: By node type, in order of the nodes.
        edges: ``(2, edges)``, sources and targets, by relation.
        features: ``(nodes, features)``, by node type, of those that have any.
        target: Node type with labels and splits.
        labels: Labels of its nodes, int64, -1 where unknown.
        splits: ``train``, ``valid`` and ``test``: nodes of it.
        num_classes: Number of classes.
    """

    num_nodes: Mapping[str, int]
    edges: Mapping[Triplet, Array]
    features: Mapping[str, Array]
    target: str
    labels: Array
    splits: Mapping[str, Array]
    num_classes: int


@dataclass(frozen=True, kw_only=True)
class HeteroFiles:
    """Content of the small files of a set.

    Attributes:
        folder: The set's own.
        meta: Its description.
        public: Public set with as many nodes of each type, or None.
        num_nodes: By node type, in the order that OGB's functions give them.
        triplets: Relations.
        target: Node type with labels and splits.
        split: Folder of the split of that type's nodes.
    """

    folder: Path
    meta: Meta
    public: str | None
    num_nodes: Mapping[str, int]
    triplets: Sequence[Triplet]
    target: str
    split: Path


def edge_file(triplet: Triplet) -> str:
    """Return the file of a relation's edges."""
    return f"raw/relations/{'___'.join(triplet)}/edge.csv.gz"


def _feature_file(kind: str) -> str:
    return f"raw/node-feat/{kind}/node-feat.csv.gz"


def _label_file(kind: str) -> str:
    return f"raw/node-label/{kind}/node-label.csv.gz"


def find_hetero(folder: Path, split: str = "") -> HeteroFiles:
    """Read the small files of a set: counts, relations, description.

    Args:
        folder: The set's own.
        split: The split that the user asked for, or empty.

    Raises:
        DataError: A file is missing, damaged, or disagrees with another.
    """
    num_nodes = _node_types(folder / NODES)
    public = public_name(num_nodes)
    meta = read_meta(folder, hetero=True, public=public)
    target = _target(folder, num_nodes)
    files = HeteroFiles(
        folder=folder,
        meta=meta,
        public=public,
        num_nodes=num_nodes,
        triplets=_relations(folder, num_nodes),
        target=target,
        split=split_folder(folder, meta, split) / target,
    )
    for name in SPLITS:
        require(files.split / f"{name}.csv.gz")
    return files


def read_graph(files: HeteroFiles) -> HeteroGraph:
    """Check all files and read them.

    Raises:
        DataError: Names the file, and the line where there is one.
    """
    folder, num_nodes, triplets = files.folder, files.num_nodes, files.triplets
    target, split = files.target, files.split
    _check_form(folder, num_nodes, triplets, target)
    _check_split(split, target)
    try:
        raw, labels, splits = _read(folder, split.parent)
    except DataError:
        for triplet in triplets:
            check_every_field(folder / edge_file(triplet), Content.COUNTS)
        for kind in num_nodes:
            if (folder / _feature_file(kind)).exists():
                check_every_field(folder / _feature_file(kind), Content.REALS)
        raise
    known, num_classes = numbered(
        np.nan_to_num(labels[target][:, 0], nan=UNLABELLED).astype(np.int64),
        files.meta,
        folder / _label_file(target),
    )
    graph = HeteroGraph(
        num_nodes=num_nodes,
        edges=raw["edge_index_dict"],
        features={
            kind: rows.astype(np.float32) for kind, rows in (raw["node_feat_dict"] or {}).items()
        },
        target=target,
        labels=known,
        splits={name: nodes[target].astype(np.int64) for name, nodes in splits.items()},
        num_classes=num_classes,
    )
    _check_values(folder, graph, split)
    return graph


def _node_types(path: Path) -> dict[str, int]:
    """Number of nodes of each type, in the order that OGB's functions give them."""
    rows = text_rows(path)
    if [len(row) for row in rows] != [len(rows[0])] * 2:
        raise DataError(f"{path}: {len(rows)} lines", "expected one of names, one of numbers")
    for name, number in zip(*rows, strict=True):
        if not number.isdecimal() or len(number) > _MOST_DIGITS or int(number) < 1:
            raise DataError(
                f"{path}:2: {bounded_name(number)!r} is no number of {name!r} nodes",
                "allowed: 1 or more",
            )
    return {name: int(number) for name, number in sorted(zip(*rows, strict=True))}


def _relations(folder: Path, num_nodes: Mapping[str, int]) -> list[Triplet]:
    """Relations of the list, each of which must have a folder, and the other way round."""
    path = folder / TRIPLETS
    triplets: list[Triplet] = []
    for line, row in enumerate(text_rows(path), start=1):
        if len(row) != 3:
            raise DataError(f"{path}:{line}: {','.join(row)!r}", "expected source,relation,target")
        for kind in (row[0], row[2]):
            if kind not in num_nodes:
                raise DataError(
                    f"{path}:{line}: there is no node type {kind!r}{nearest(kind, num_nodes)}",
                    f"{folder / NODES} has: {', '.join(num_nodes)}",
                )
        if tuple(row) in triplets:
            raise DataError(
                f"{path}:{line}: {','.join(row)!r} is there twice", "expected each relation once"
            )
        triplets.append((row[0], row[1], row[2]))
    listed = {"___".join(triplet) for triplet in triplets}
    home = folder / "raw" / "relations"
    found = {entry.name for entry in home.iterdir()} if home.is_dir() else set()
    for name in sorted(listed ^ found):
        says, lacks = (path, home) if name in listed else (home, path)
        guess = nearest(name, found - listed if name in listed else listed - found)
        raise DataError(
            f"relation {name!r} is in {says} but not in {lacks}{guess}",
            "the names in both must be the same",
        )
    return triplets


def _target(folder: Path, num_nodes: Mapping[str, int]) -> str:
    """The one node type that has labels."""
    path = folder / HAS_LABEL
    rows = text_rows(path)
    if [len(row) for row in rows] != [len(rows[0])] * 2:
        raise DataError(f"{path}: {len(rows)} lines", "expected one of names, one of True or False")
    labelled = [name for name, has in zip(*rows, strict=True) if has == "True"]
    if len(labelled) != 1 or labelled[0] not in num_nodes:
        raise DataError(
            f"{path}: nodes with labels are of type {', '.join(labelled) or 'none'}",
            f"expected one of: {', '.join(num_nodes)}",
        )
    return str(labelled[0])


def _check_form(
    folder: Path, num_nodes: Mapping[str, int], triplets: Sequence[Triplet], target: str
) -> None:
    for triplet in triplets:
        counted = (folder / edge_file(triplet)).with_name("num-edge-list.csv.gz")
        rows = Said(single_count(counted), counted)
        measure(folder / edge_file(triplet), Content.COUNTS, columns=2, rows=rows)
        unused = counted.with_name("edge-feat.csv.gz")  # but OGB's functions read it
        if unused.exists():
            measure(unused, Content.REALS, rows=rows)
    for kind, number in num_nodes.items():
        if (folder / _feature_file(kind)).exists():
            rows = Said(number, folder / NODES)
            measure(folder / _feature_file(kind), Content.REALS, rows=rows)
    rows = Said(num_nodes[target], folder / NODES)
    measure(folder / _label_file(target), Content.LABELS, columns=1, rows=rows)
    # OGB's functions read fractions, which would become other classes: 1.5 has the characters.
    check_every_field(folder / _label_file(target), Content.LABELS)


def _check_split(split: Path, target: str) -> None:
    """Check the files of the split, and the one that names their nodes."""
    for name in SPLITS:
        path = split / f"{name}.csv.gz"
        measure(path, Content.COUNTS, columns=1)
        check_every_field(path, Content.COUNTS)
    path = split.parent / HAS_SPLIT
    rows = text_rows(path)
    if [len(row) for row in rows] != [len(rows[0])] * 2:
        raise DataError(f"{path}: {len(rows)} lines", "expected one of names, one of True or False")
    has = [name for name, flag in zip(*rows, strict=True) if flag == "True"]
    if has != [target]:
        raise DataError(
            f"{path}: nodes with a split are of type {', '.join(has) or 'none'}",
            f"expected {target}, which has labels",
        )


def _read(folder: Path, split: Path) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    with quiet_ogb():
        from ogb.io import read_graph_raw

        try:
            (raw,) = read_graph_raw.read_csv_heterograph_raw(str(folder / "raw"))
            labels = read_graph_raw.read_node_label_hetero(str(folder / "raw"))
            splits = read_graph_raw.read_nodesplitidx_split_hetero(str(split))
        except Exception as error:
            raise DataError(f"OGB cannot read {folder}: {type(error).__name__}: {error}") from error
    return raw, labels, dict(zip(SPLITS, splits, strict=True))


def _check_values(folder: Path, graph: HeteroGraph, split: Path) -> None:
    for triplet, ends in graph.edges.items():
        for nodes, kind in zip(ends, (triplet[0], triplet[2]), strict=True):
            where = lines(folder / edge_file(triplet))
            check_range(nodes, graph.num_nodes[kind], where, f"{kind} node")
    for kind, rows in graph.features.items():
        check_finite(rows, lines(folder / _feature_file(kind)))
    where = lines(folder / _label_file(graph.target))
    places = {name: lines(split / f"{name}.csv.gz") for name in SPLITS}
    check_splits(graph.splits, places, graph.num_nodes[graph.target])
    check_labelled(graph.splits, places, graph.labels, where)
