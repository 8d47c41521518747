"""Description of a set in OGB's layout: its ``meta_dict.json``, OGB's list, or what is found."""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from orchestrator.errors import DataError
from orchestrator.field_types import shown
from trainables.data.formats.arrays import Array
from trainables.data.formats.checks import check_range, lines
from trainables.data.formats.relational_store import UNLABELLED

META = "meta_dict.json"
SPLITS = "split"
MAX_CLASSES = 1 << 20
"""More would be a mistake: the last layer has a row for each."""

_CLASSES = "num classes"
_TASKS = ("multiclass classification", "binary classification")


@dataclass(frozen=True, kw_only=True)
class Meta:
    """Description of a set.

    Attributes:
        split: Folder of the split under ``split/``; empty where it is not given.
        num_classes: Number of classes, and of a classifier's outputs; None: those that occur.
        both_ways: True where each edge in the file stands for one in each direction.
    """

    split: str
    num_classes: int | None
    both_ways: bool


def read_meta(folder: Path, *, hetero: bool, public: str | None) -> Meta:
    """Return the description of a set: its ``meta_dict.json``, else OGB's list.

    Args:
        folder: The set's own.
        hetero: True for a graph with several kinds of nodes or edges.
        public: Name of the public set in the folder, or None: OGB's list knows no other.

    Raises:
        DataError: The description is damaged or of another kind.
    """
    path = folder / META
    given: Mapping[str, Any] = {}
    if path.is_file():
        given = _object_in(path)
    elif public is not None:
        path, given = Path("OGB's list"), _listed(public)
    expected = {"is hetero": (str(hetero),), "binary": ("False",), "task type": _TASKS}
    for key, values in expected.items():
        if key in given and str(given[key]) not in values:
            wanted = " or ".join(map(repr, values))
            raise DataError(f"{path}: {key!r} is {given[key]!r}", f"this reads {wanted}")
    split = given.get("split", "")
    if not isinstance(split, str) or Path(split).name != split:
        raise DataError(
            f"{path}: 'split' is {shown(split)}", f"expected the name of a folder in {SPLITS}"
        )
    return Meta(
        split=split,
        num_classes=_num_classes(path, given[_CLASSES]) if _CLASSES in given else None,
        both_ways=str(given.get("add_inverse_edge")) == "True",
    )


def _num_classes(path: Path, given: object) -> int:
    count = int(str(given)) if str(given).isdecimal() else 0
    if not 1 <= count <= MAX_CLASSES:
        raise DataError(
            f"{path}: {_CLASSES!r} is {shown(given)}",
            f"expected a whole number from 1 to {MAX_CLASSES}",
        )
    return count


def numbered(labels: Array, meta: Meta, path: Path) -> tuple[Array, int]:
    """Return the labels as classes 0, 1, ..., and the number of classes.

    Without a described number, the classes are the labels that occur, in their order.

    Args:
        labels: Labels of all nodes, whole; -1 where unknown.
        meta: Description of the set.
        path: The file that they are from.

    Raises:
        DataError: A label is out of range, or there are none, or too many different ones.
    """
    known = labels != UNLABELLED
    given = np.where(known, labels, 0)
    if meta.num_classes is not None:
        check_range(given, meta.num_classes, lines(path), "label")
        return labels, meta.num_classes
    check_range(given, int(given.max()) + 1, lines(path), "label")
    classes = np.unique(labels[known])
    if not 1 <= len(classes) <= MAX_CLASSES:
        raise DataError(f"{path}: {len(classes)} classes", f"allowed: 1 to {MAX_CLASSES}")
    return np.where(known, np.searchsorted(classes, labels), UNLABELLED), len(classes)


def split_folder(folder: Path, meta: Meta, asked: str = "") -> Path:
    """Return the folder of the split: the one that was asked for or is described, or the only one.

    Raises:
        DataError: None is named, and there is none or there are several.
    """
    home = folder / SPLITS
    if asked or meta.split:
        return home / (asked or meta.split)
    found = (
        sorted(entry.name for entry in home.iterdir() if entry.is_dir()) if home.is_dir() else []
    )
    if len(found) == 1:
        return home / found[0]
    if not found:
        raise DataError(f"{home} is missing or empty", f"expected {home}/NAME/train.csv.gz")
    raise DataError(
        f"{folder} has several splits: {', '.join(found)}",
        f'name one: --data {folder}@{found[0]}, or {{"split": "{found[0]}"}} in {META}',
    )


def _object_in(path: Path) -> Mapping[str, Any]:
    try:
        given = json.loads(path.read_bytes())
    except ValueError as error:
        raise DataError(f"{path} is damaged: {error}") from None
    if not isinstance(given, dict):
        raise DataError(f"{path} holds a {type(given).__name__}", "expected an object")
    return given


def _listed(name: str) -> Mapping[str, Any]:
    """Return a set's entry in OGB's list. Read without importing ogb, which takes seconds."""
    found = find_spec("ogb")
    if found is None or not found.submodule_search_locations:
        raise DataError("reading OGB's layouts needs the package ogb", "install ogb")
    path = Path(found.submodule_search_locations[0]) / "nodeproppred" / "master.csv"
    with path.open(newline="") as file:
        return {row[""]: row[name] for row in csv.DictReader(file)}
