"""mag240m: 121 M papers, 122 M authors, 26 k institutions; features of 768 half floats.

From OGB's large-scale challenge (ogb.stanford.edu/docs/lsc/mag240m). As in DGL's example for
it, nodes of all types share one space of numbers, edges carry a type, citations count in
both directions as one relation, and authors' and institutions' features are means.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from orchestrator.data import DataFolders, DataSet, PreparedData
from orchestrator.errors import DataError
from trainables.data.formats.array_writer import ArrayWriter
from trainables.data.formats.arrays import Array, map_array, release
from trainables.data.formats.checks import check_finite, items
from trainables.data.formats.conversion import Conversion, path_key, signature_of
from trainables.data.formats.naming import folder_name, public_name
from trainables.data.formats.neighbour_means import Neighbours
from trainables.data.formats.ogb_loader import Release, download_set, quiet_ogb
from trainables.data.formats.relational_columns import (
    Columns,
    EdgeList,
    End,
    check_num_nodes,
    write_columns,
)
from trainables.data.formats.relational_store import (
    KIND,
    UNLABELLED,
    NodeType,
    Relation,
    Schema,
)
from trainables.data.layouts.known import HETEROGENEOUS, MAG240M_FILES, refuse_others
from trainables.data.layouts.mag240m import (
    AFFILIATED,
    CITES,
    FEATURES,
    FILES,
    FOLDER,
    META,
    WRITES,
    Layout,
    edge_file,
    open_layout,
    shape_counts,
)
from trainables.data.layouts.ogb_hetero import TRIPLETS
from trainables.data.sets.folders import existing_folder, folder_and_part, something_else
from trainables.data.sets.ogb_hetero import OgbHetero

_VERSION = 1
_CHUNK_ROWS = 1 << 15

_RELATIONS = (
    Relation(source="author", name="affiliated_with", target="institution"),
    Relation(source="institution", name="rev_affiliated_with", target="author"),
    Relation(source="author", name="writes", target="paper"),
    Relation(source="paper", name="rev_writes", target="author"),
    Relation(source="paper", name="cites", target="paper"),
)
_INTO_INSTITUTIONS, _INTO_AUTHORS = 0, 3


@dataclass(frozen=True, kw_only=True)
class Mag240m:
    """The data set ``mag240m``, or anything else in its layout.

    Attributes:
        folder: Its folder, if not in its place under the data root.
    """

    folder: Path | None = None

    name = "mag240m"
    embedded = False
    how_to_get = (
        f"--download gets it (167 GB packed) into DATA_ROOT/{FOLDER}; "
        "twice its unpacked size of 400 GB is needed"
    )

    def at(self, variant: str) -> DataSet:
        """Another folder: its own, one above, or one in OGB's heterogeneous layout.

        Raises:
            DataError: There is no such folder, or it is something else.
        """
        given, split = folder_and_part(variant)
        folder = existing_folder(given)
        for candidate in (folder, folder / FOLDER):
            if (candidate / META).is_file():
                return Mag240m(folder=candidate)
        if (folder / TRIPLETS).is_file():
            return OgbHetero.in_folder(folder, split)
        refuse_others(folder, MAG240M_FILES, HETEROGENEOUS)
        raise something_else(folder, [FOLDER, META, TRIPLETS])

    def present(self, folders: DataFolders) -> bool:
        """Return True if it can be prepared without a download."""
        return self._source(folders).is_dir()

    def name_in(self, folders: DataFolders) -> str:
        """Return its name. See :class:`orchestrator.data.DataSet`."""
        source = self._existing(folders)
        return _name_of(source, shape_counts(source))

    def prepare(self, folders: DataFolders, *, download: bool = False) -> PreparedData:
        """Check it and convert it once. See :class:`orchestrator.data.DataSet`."""
        source = self._source(folders)
        if not source.is_dir() and download:
            download_set(self.name, _release(), source)
        source = self._existing(folders)
        return prepare_layout(_name_of(source, shape_counts(source)), source, folders)

    def _existing(self, folders: DataFolders) -> Path:
        source = self._source(folders)
        if not source.is_dir():
            raise DataError(f"{self.name}: there is no folder {source}", self.how_to_get)
        return source

    def _source(self, folders: DataFolders) -> Path:
        return self.folder or folders.root.absolute() / FOLDER


MAG240M = Mag240m()


def prepare_layout(
    name: str, source: Path, folders: DataFolders, *, with_ogb: bool = True
) -> PreparedData:
    """Convert a folder in MAG240M's layout once.

    Args:
        name: Value of ``data`` in the trials table.
        source: The folder.
        folders: Folders of the cache.
        with_ogb: See :func:`layouts.mag240m.open_layout`.

    Raises:
        DataError: A file is missing, damaged, or does not fit the others.
    """
    layout = partial(open_layout, source, with_ogb=with_ogb)
    conversion = Conversion(
        name=name,
        kind=KIND,
        source=str(source),
        key=f"{name}-{path_key(source)}-v{_VERSION}",
        signature=signature_of(source, [source / file for file in FILES], version=_VERSION),
    )
    return conversion.prepare(folders.cache, lambda folder: _convert(layout(), folder))


def _name_of(source: Path, counts: Mapping[str, int]) -> str:
    return public_name(counts) or folder_name(source, size=f"{counts['papers']}-papers")


def _release() -> Release:
    with quiet_ogb():
        from ogb.lsc import MAG240MDataset
    return Release(url=MAG240MDataset.url, folder=FOLDER)


def _convert(layout: Layout, folder: Path) -> Mapping[str, int]:
    schema = _schema(layout)
    labels = layout.known_labels()
    papers = schema.node_type("paper")
    num_nodes = papers.offset + papers.num_nodes
    check_num_nodes(num_nodes, len(schema.relations), layout.folder / META)
    num_edges = write_columns(folder, _edge_lists(layout, schema), num_nodes)
    with ArrayWriter(folder / "labels.npy", np.int64) as writer:
        writer.append(np.full(papers.offset, UNLABELLED))
        writer.append(labels)
    names = {"train": "train", "valid": "val", "test-whole": "test"}
    names |= {"test-dev": "test_dev", "test-challenge": "test_challenge"}
    for theirs, ours in names.items():
        np.save(folder / f"{ours}.npy", layout.splits[theirs] + papers.offset)
    _write_features(folder, layout, schema)
    schema.write(folder)
    return {
        "nodes": num_nodes,
        "edges": num_edges,
        "relations": len(schema.relations),
        "features": layout.features.shape[1],
        "classes": layout.num_classes,
        "train": len(layout.splits["train"]),
        "val": len(layout.splits["valid"]),
        "test": len(layout.splits["test-whole"]),
    }


def _schema(layout: Layout) -> Schema:
    kinds, offset = [], 0
    for name, number in layout.num_nodes.items():
        kinds.append(NodeType(name=name, offset=offset, num_nodes=number))
        offset += number
    return Schema(
        node_types=tuple(kinds),
        relations=_RELATIONS,
        target="paper",
        num_classes=layout.num_classes,
    )


def _edge_lists(layout: Layout, schema: Schema) -> list[EdgeList]:
    lists = []
    directions = {AFFILIATED: (0, 1), WRITES: (2, 3), CITES: (4, 4)}
    for relation, (forward, backward) in directions.items():
        file = layout.folder / edge_file(relation)
        ends = []
        for row, kind in enumerate((relation[0], relation[2])):
            nodes = schema.node_type(kind)
            ends.append(
                End(
                    nodes=layout.edges[relation][row],
                    offset=nodes.offset,
                    num_nodes=nodes.num_nodes,
                    where=items(file, f"row {row}, edge"),
                )
            )
        lists.append(EdgeList(relation=forward, source=ends[0], target=ends[1]))
        lists.append(EdgeList(relation=backward, source=ends[1], target=ends[0]))
    return lists


def _write_features(folder: Path, layout: Layout, schema: Schema) -> None:
    """Authors', institutions' and papers', in this order, float16, a part at a time."""
    authors, institutions, papers = schema.node_types
    neighbours = partial(Neighbours, columns=Columns.open(folder))
    path = folder / "features.npy"
    width = layout.features.shape[1]
    with ArrayWriter(path, np.float16, (width,)) as writer:
        of_papers = neighbours(
            relation=_INTO_AUTHORS, features=layout.features, offset=papers.offset
        )
        for means in of_papers.means(authors.offset, institutions.offset):
            writer.append(means)
        writer.flush()
        known = map_array(path)  # as far as it is written
        of_authors = neighbours(relation=_INTO_INSTITUTIONS, features=known, offset=authors.offset)
        for means in of_authors.means(institutions.offset, papers.offset):
            writer.append(means)
        for rows in _checked(layout):
            writer.append(rows)


def _checked(layout: Layout) -> Iterator[Array]:
    where = items(layout.folder / FEATURES, "paper")
    for start in range(0, len(layout.features), _CHUNK_ROWS):
        rows = layout.features[start : start + _CHUNK_ROWS]
        check_finite(rows, where, first=start)
        yield rows
        release(layout.features)
