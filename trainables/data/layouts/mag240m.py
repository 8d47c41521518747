"""The files of MAG240M: found, checked, opened without being read.

A folder ``mag240m_kddcup2021`` with ``meta.pt`` (counts), ``split_dict.pt`` (positions of
papers), ``processed/paper/node_{feat,label,year}.npy`` and an ``edge_index.npy`` (2, edges)
for each of three relations.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from orchestrator.errors import DataError, nearest
from trainables.data.formats.arrays import Array, map_array
from trainables.data.formats.checks import check_range, check_splits, check_whole, items
from trainables.data.formats.ogb_loader import link_layout, quiet_ogb
from trainables.data.formats.plain_pickle import (
    load_mapping,
    number_array,
    plain_globals,
    whole_number,
)
from trainables.data.formats.relational_store import UNLABELLED

FOLDER = "mag240m_kddcup2021"
META, SPLIT = "meta.pt", "split_dict.pt"
FEATURES, LABELS = "processed/paper/node_feat.npy", "processed/paper/node_label.npy"
AFFILIATED = ("author", "affiliated_with", "institution")
WRITES = ("author", "writes", "paper")
CITES = ("paper", "cites", "paper")
RELATIONS = (AFFILIATED, WRITES, CITES)
SPLITS = ("train", "valid", "test-whole", "test-dev", "test-challenge")
"""As OGB's data set names them; the last two are the halves of the third."""

_NODE_TYPES = ("author", "institution", "paper")
_CHUNK_ROWS = 1 << 20


def edge_file(relation: tuple[str, str, str]) -> str:
    """Return the file of a relation's edges."""
    return f"processed/{'___'.join(relation)}/edge_index.npy"


FILES = (META, SPLIT, FEATURES, LABELS, *map(edge_file, RELATIONS))


@dataclass(frozen=True, kw_only=True, eq=False)
class Layout:
    """Content of the files; arrays are mapped.

    Attributes:
        folder: Their folder.
        num_nodes: By node type.
        num_classes: Number of classes.
        features: float16, ``(papers, features)``.
        labels: Labels of papers; NaN or negative where unknown.
        splits: Positions of papers, int64, by the names in :data:`SPLITS`.
        edges: ``(2, edges)``, sources and targets, by relation.
    """

    folder: Path
    num_nodes: Mapping[str, int]
    num_classes: int
    features: Array
    labels: Array
    splits: Mapping[str, Array]
    edges: Mapping[tuple[str, str, str], Array]

    def known_labels(self) -> Array:
        """Labels of papers, int64, -1 where unknown.

        Raises:
            DataError: A label is out of range or no whole number, or one to learn from or to
                choose by is missing; names its place.
        """
        where = items(self.folder / LABELS)
        known = np.full(len(self.labels), UNLABELLED, dtype=np.int64)
        for start in range(0, len(known), _CHUNK_ROWS):
            chunk = np.asarray(self.labels[start : start + _CHUNK_ROWS], dtype=np.float64)
            unknown = np.isnan(chunk) | (chunk == UNLABELLED)
            given = np.where(unknown, 0, chunk)
            check_range(given, self.num_classes, where, "label", first=start)
            check_whole(given, where, "label", first=start)
            known[start : start + len(chunk)] = np.where(unknown, UNLABELLED, given)
        for name in ("train", "valid"):
            missing = known[self.splits[name]] == UNLABELLED
            if missing.any():
                paper = self.splits[name][np.argmax(missing)]
                raise DataError(
                    f"{where(int(paper))} is empty, but {self.folder / SPLIT} has it in {name!r}",
                    "every paper to train on or to validate with needs a label",
                )
        return known


def shape_counts(folder: Path) -> dict[str, int]:
    """Return how many papers and edges there are by the headers of the arrays.

    Raises:
        DataError: A file is missing, or its header is damaged.
    """
    for name in (META, SPLIT, FEATURES):
        if not (folder / name).is_file():
            raise DataError(f"{folder / name} is missing", "get it again")
    edges = {"affiliations": AFFILIATED, "writings": WRITES, "citations": CITES}
    return {
        "papers": map_array(folder / LABELS, hint="get it again").size,
        **{name: _edges(folder, relation).shape[1] for name, relation in edges.items()},
    }


def open_layout(folder: Path, *, with_ogb: bool = True) -> Layout:
    """Check shapes and counts, and open the arrays.

    Args:
        folder: Their folder.
        with_ogb: Read counts and splits through OGB's class. Sets that are generated here
            can do without, so that a machine without ``ogb`` can train on them.

    Raises:
        DataError: A file is missing, damaged, or disagrees with ``meta.pt``; names it.
    """
    meta, given = load_mapping(folder / META), load_mapping(folder / SPLIT)
    counts = {
        name: whole_number(folder / META, meta, name) for name in (*_NODE_TYPES, "num_classes")
    }
    for name in ("train", "valid", "test" if "test" in given else "test-whole"):
        number_array(folder / SPLIT, given, name)
    if with_ogb:
        dataset = _through_ogb(folder)
        given = dataset.get_idx_split()
        counts = {
            "author": int(dataset.num_authors),
            "institution": int(dataset.num_institutions),
            "paper": int(dataset.num_papers),
            "num_classes": int(dataset.num_classes),
        }
    if counts["num_classes"] > counts["paper"]:
        raise DataError(
            f"{folder / META}: 'num_classes' is {counts['num_classes']}",
            f"allowed: at most {counts['paper']}, the number of papers",
        )
    num_nodes = {name: counts[name] for name in _NODE_TYPES}
    edges = {relation: _edges(folder, relation) for relation in RELATIONS}
    features = _paper_array(folder, FEATURES, num_nodes["paper"], num_dimensions=2)
    if features.dtype != np.float16:
        raise DataError(f"{folder / FEATURES} holds {features.dtype}", "expected float16")
    labels = _paper_array(folder, LABELS, num_nodes["paper"], num_dimensions=1)
    if labels.dtype.kind not in "iuf":
        raise DataError(f"{folder / LABELS} holds {labels.dtype}", "expected numbers, or NaN")
    return Layout(
        folder=folder,
        num_nodes=num_nodes,
        num_classes=counts["num_classes"],
        features=features,
        labels=labels,
        splits=_splits(folder, given, num_nodes["paper"]),
        edges=edges,
    )


def _through_ogb(folder: Path) -> Any:  # noqa: ANN401 - OGB has no types
    """OGB's data set over pickles that were found plain, in a folder where it asks nothing."""
    with TemporaryDirectory() as scratch, quiet_ogb(), plain_globals():
        from ogb.lsc import MAG240MDataset

        files = (META, SPLIT)
        link_layout(folder, Path(scratch) / FOLDER, files, version=MAG240MDataset.version)
        try:
            return MAG240MDataset(root=scratch)
        except AssertionError as error:
            raise DataError(
                f"{folder / SPLIT} names no test papers",
                "expected 'test', or 'test-whole', 'test-dev' and 'test-challenge'",
            ) from error


def _paper_array(folder: Path, name: str, num_papers: int, num_dimensions: int) -> Array:
    array = map_array(folder / name, hint="get it again")
    if array.ndim != num_dimensions or len(array) != num_papers or not array.size:
        shape = " x ".join(map(str, array.shape))
        raise DataError(
            f"{folder / name}: shape {shape}",
            f"{folder / META} says there are {num_papers} papers, each with a figure or more",
        )
    return array


def _edges(folder: Path, relation: tuple[str, str, str]) -> Array:
    path = folder / edge_file(relation)
    if not path.parent.is_dir():
        beside = path.parent.parent
        found = sorted(p.name for p in beside.iterdir() if p.is_dir()) if beside.is_dir() else []
        raise DataError(
            f"{beside} has no relation {path.parent.name!r}{nearest(path.parent.name, found)}",
            f"found there: {', '.join(found) or 'nothing'}",
        )
    array = map_array(path, hint="get it again")
    if array.ndim != 2 or len(array) != 2 or array.dtype.kind not in "iu":
        shape = " x ".join(map(str, array.shape))
        raise DataError(
            f"{path}: {array.dtype} of shape {shape}", "expected whole numbers, 2 x edges"
        )
    return array


def _splits(folder: Path, given: Mapping[str, Any], num_papers: int) -> dict[str, Array]:
    path = folder / SPLIT
    splits = {name: number_array(path, given, name) for name in SPLITS}
    for name, positions in splits.items():
        if not len(positions):
            raise DataError(f"{path}: {name!r} is empty", "a split needs papers")
    where = {name: items(path, name) for name in SPLITS}
    *learned, whole, dev, challenge = SPLITS
    for test in ([whole], [dev, challenge]):
        check_splits({name: splits[name] for name in (*learned, *test)}, where, num_papers)
    for name in (dev, challenge):
        elsewhere = ~np.isin(splits[name], splits[whole])
        if elsewhere.any():
            row = int(np.argmax(elsewhere))
            raise DataError(
                f"{where[name](row)}: node {splits[name][row]} is not in {whole!r}",
                f"{dev!r} and {challenge!r} are parts of it",
            )
    return splits
