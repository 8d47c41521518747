"""Heterogeneous node-property sets in OGB's layout: ogbn-mag, ogbn-aifb, or a user's."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from orchestrator.data import DataFolders, DataSet, PreparedData
from orchestrator.errors import DataError
from trainables.data.formats.arrays import Array
from trainables.data.formats.checks import lines
from trainables.data.formats.conversion import Conversion, path_key, signature_of
from trainables.data.formats.naming import folder_name
from trainables.data.formats.neighbour_means import Neighbours
from trainables.data.formats.ogb_loader import download_set, node_set_release
from trainables.data.formats.relational_columns import (
    Columns,
    EdgeList,
    End,
    check_num_nodes,
    write_columns,
)
from trainables.data.formats.relational_store import KIND, UNLABELLED, NodeType, Relation, Schema
from trainables.data.layouts.known import HETEROGENEOUS, refuse_others
from trainables.data.layouts.ogb_hetero import (
    NODES,
    TRIPLETS,
    HeteroFiles,
    HeteroGraph,
    Triplet,
    edge_file,
    find_hetero,
    read_graph,
)
from trainables.data.sets.folders import existing_folder, folder_and_part, something_else

_VERSION = 2


@dataclass(frozen=True, kw_only=True)
class OgbHetero:
    """A set of OGB, or another one that has a ``meta_dict.json`` in OGB's form.

    Attributes:
        name: OGB's name of it; its folder has underscores for the hyphens.
        folder: Its folder, if not in its place under the data root.
        listed: True if OGB has it for download.
        split: Folder under its ``split/``; empty: the one that is described, or the only one.
    """

    name: str
    folder: Path | None = None
    listed: bool = False
    split: str = ""

    embedded = False

    @property
    def how_to_get(self) -> str:
        """One line on how to get it."""
        place = f"DATA_ROOT/{self._folder_name}"
        return f"--download gets it into {place}" if self.listed else f"put it into {place}"

    def at(self, variant: str) -> DataSet:
        """Another folder in the same layout; ``FOLDER@NAME`` names one of several splits.

        Raises:
            DataError: There is no such folder, or it is something else.
        """
        given, split = folder_and_part(variant)
        folder = existing_folder(given)
        refuse_others(folder, HETEROGENEOUS)
        if not (folder / TRIPLETS).is_file():
            raise something_else(folder, [TRIPLETS])
        return self.in_folder(folder, split)

    @classmethod
    def in_folder(cls, folder: Path, split: str = "") -> OgbHetero:
        """The set in ``folder``, named after it."""
        return cls(name=folder.name.replace("_", "-"), folder=folder, split=split)

    def present(self, folders: DataFolders) -> bool:
        """Return True if it can be prepared without a download."""
        return self._source(folders).is_dir()

    def name_in(self, folders: DataFolders) -> str:
        """Return its name. See :class:`orchestrator.data.DataSet`."""
        return _name_of(self._files(folders))

    def prepare(self, folders: DataFolders, *, download: bool = False) -> PreparedData:
        """Check it and convert it once. See :class:`orchestrator.data.DataSet`."""
        source = self._source(folders)
        if not source.is_dir() and download and self.listed:
            download_set(self.name, node_set_release(self.name), source)
        files = self._files(folders)
        part = f"{self.split}-" if self.split else ""
        paths = sorted(path for path in source.rglob("*") if path.name.endswith((".gz", ".json")))
        conversion = Conversion(
            name=_name_of(files),
            kind=KIND,
            source=str(source),
            key=f"{self.name}-{part}{path_key(source)}-v{_VERSION}",
            signature=signature_of(source, paths, version=_VERSION),
        )
        return conversion.prepare(folders.cache, lambda folder: _convert(files, folder))

    def _files(self, folders: DataFolders) -> HeteroFiles:
        source = self._source(folders)
        if not source.is_dir():
            raise DataError(f"{self.name}: there is no folder {source}", self.how_to_get)
        refuse_others(source, HETEROGENEOUS)
        return find_hetero(source, self.split)

    @property
    def _folder_name(self) -> str:
        return self.name.replace("-", "_")

    def _source(self, folders: DataFolders) -> Path:
        return self.folder or folders.root.absolute() / self._folder_name


OGBN_MAG = OgbHetero(name="ogbn-mag", listed=True)
OGBN_AIFB = OgbHetero(name="ogbn-aifb")


def _name_of(files: HeteroFiles) -> str:
    size = f"{sum(files.num_nodes.values())}-nodes"
    return files.public or folder_name(files.folder, size=size)


def _convert(files: HeteroFiles, folder: Path) -> Mapping[str, int]:
    source, graph = files.folder, read_graph(files)
    directed = _directed(graph)
    schema = _schema(graph, directed)
    target = schema.node_type(graph.target)
    num_nodes = sum(graph.num_nodes.values())
    check_num_nodes(num_nodes, len(schema.relations), source / NODES)
    num_edges = write_columns(folder, _edge_lists(source, graph, schema, directed), num_nodes)
    labels = np.full(num_nodes, UNLABELLED)
    labels[target.offset : target.offset + target.num_nodes] = graph.labels
    np.save(folder / "labels.npy", labels)
    splits = {"train": "train", "val": "valid", "test": "test"}
    for ours, theirs in splits.items():
        np.save(folder / f"{ours}.npy", graph.splits[theirs] + target.offset)
    if graph.features:
        features = _filled(source, Columns.open(folder), graph, schema)
        np.save(folder / "features.npy", features)
    schema.write(folder)
    return {
        "nodes": num_nodes,
        "edges": num_edges,
        "relations": len(schema.relations),
        "classes": graph.num_classes,
        **{ours: len(graph.splits[theirs]) for ours, theirs in splits.items()},
    }


@dataclass(frozen=True, kw_only=True)
class _Direction:
    """A relation as it is stored, or its inverse."""

    triplet: Triplet
    inverse: bool

    @property
    def relation(self) -> Relation:
        source, name, target = self.triplet
        if self.inverse:
            return Relation(source=target, name=f"rev_{name}", target=source)
        return Relation(source=source, name=name, target=target)


def _directed(graph: HeteroGraph) -> list[_Direction]:
    """All relations, and the inverses that are missing among them.

    Some sets come with inverses under other names, which are recognized by their edges. A
    symmetric relation is its own inverse.
    """
    there = {_edge_hash(triplet, ends) for triplet, ends in graph.edges.items()}
    lacking = [
        (source, name, target)
        for (source, name, target), ends in graph.edges.items()
        if _edge_hash((target, name, source), ends[::-1]) not in there
    ]
    return [
        *(_Direction(triplet=triplet, inverse=False) for triplet in graph.edges),
        *(_Direction(triplet=triplet, inverse=True) for triplet in lacking),
    ]


def _edge_hash(triplet: Triplet, ends: Array) -> tuple[str, str, str]:
    ordered = ends[:, np.lexsort(ends)]
    digest = hashlib.blake2b(ordered.tobytes(), digest_size=16)
    return triplet[0], triplet[2], digest.hexdigest()


def _schema(graph: HeteroGraph, directed: Sequence[_Direction]) -> Schema:
    kinds, offset = [], 0
    for name, number in graph.num_nodes.items():
        kinds.append(NodeType(name=name, offset=offset, num_nodes=number))
        offset += number
    return Schema(
        node_types=tuple(kinds),
        relations=tuple(direction.relation for direction in directed),
        target=graph.target,
        num_classes=graph.num_classes,
    )


def _edge_lists(
    source: Path, graph: HeteroGraph, schema: Schema, directed: Sequence[_Direction]
) -> list[EdgeList]:
    lists = []
    for number, direction in enumerate(directed):
        triplet = direction.triplet
        ends = []
        for nodes, name in zip(graph.edges[triplet], (triplet[0], triplet[2]), strict=True):
            kind = schema.node_type(name)
            where = lines(source / edge_file(triplet))
            ends.append(End(nodes=nodes, offset=kind.offset, num_nodes=kind.num_nodes, where=where))
        first, second = reversed(ends) if direction.inverse else ends
        lists.append(EdgeList(relation=number, source=first, target=second))
    return lists


def _filled(source: Path, columns: Columns, graph: HeteroGraph, schema: Schema) -> Array:
    """Features of all nodes; a type without any has the means of its neighbours'."""
    widths = {kind: rows.shape[1] for kind, rows in graph.features.items()}
    if len(set(widths.values())) > 1:
        raise DataError(f"{source}: node types differ in their number of features: {widths}")
    known = dict(graph.features)
    while lacking := [kind for kind in schema.node_types if kind.name not in known]:
        found = [
            (kind, number) for kind in lacking for number in _from_known(schema, kind, known)[:1]
        ]
        if not found:
            names = ", ".join(kind.name for kind in lacking)
            raise DataError(
                f"{source}: no features for nodes of type {names}",
                "nor have they neighbours whose mean could stand for them",
            )
        for kind, number in found:
            from_kind = schema.node_type(schema.relations[number].source)
            neighbours = Neighbours(
                columns=columns,
                relation=number,
                features=known[from_kind.name],
                offset=from_kind.offset,
            )
            rows = neighbours.means(kind.offset, kind.offset + kind.num_nodes)
            known[kind.name] = np.concatenate(list(rows))
    return np.concatenate([known[kind.name] for kind in schema.node_types])


def _from_known(schema: Schema, kind: NodeType, known: Mapping[str, Array]) -> list[int]:
    """Numbers of the relations into ``kind`` from types with features."""
    return [
        number
        for number, relation in enumerate(schema.relations)
        if relation.target == kind.name and relation.source in known
    ]
