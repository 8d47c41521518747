"""Checks of arrays that were read from files; each error gives the place of a wrong value."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np

from orchestrator.errors import DataError
from trainables.data.formats.arrays import Array

_CHUNK_ROWS = 1 << 16

Where = Callable[[int], str]
"""Names the place of a row, counted from 0."""


def lines(file: Path) -> Where:
    """Rows of a text file: ``file:line``."""
    return lambda row: f"{file}:{row + 1}"


def items(file: Path, name: str = "item") -> Where:
    """Rows of an array in a file: ``file: name[row]``."""
    return lambda row: f"{file}: {name}[{row}]"


def check_range(values: Array, limit: int, where: Where, meaning: str, first: int = 0) -> None:
    """Check that ``values`` (n,) or (n, k) are in ``0 .. limit - 1``.

    Args:
        values: The values in the file.
        limit: First value that is too large.
        where: Place of a row.
        meaning: Name of a value, for example ``label``.
        first: Row of the file that ``values`` begins with.

    Raises:
        DataError: Names the place and the value.
    """
    wrong = (values < 0) | (values >= limit)
    if wrong.any():
        place = np.argwhere(wrong)[0]
        raise DataError(
            f"{where(first + int(place[0]))}: {meaning} {values[tuple(place)]} does not exist",
            f"allowed: 0 to {limit - 1}",
        )


def check_whole(values: Array, where: Where, meaning: str, first: int = 0) -> None:
    """Check that ``values`` (n,) have no fraction, which a cast to integers cuts off.

    Args:
        values: The values in the file; finite.
        where: Place of a row.
        meaning: Name of a value, for example ``label``.
        first: Row of the file that ``values`` begins with.

    Raises:
        DataError: Names the place and the value.
    """
    wrong = values != np.floor(values)
    if wrong.any():
        row = int(np.argmax(wrong))
        raise DataError(
            f"{where(first + row)}: {meaning} {values[row]} is not whole",
            f"every {meaning} must be a whole number",
        )


def check_finite(features: Array, where: Where, first: int = 0) -> None:
    """Check that ``features`` (nodes, features) contain neither NaN nor infinity.

    Args:
        features: The values in the file.
        where: Place of a row.
        first: Row of the file that ``features`` begins with.

    Raises:
        DataError: Names the place and the column.
    """
    for start in range(0, len(features), _CHUNK_ROWS):
        wrong = ~np.isfinite(features[start : start + _CHUNK_ROWS])
        if wrong.any():
            row, column = np.argwhere(wrong)[0]
            raise DataError(
                f"{where(first + start + int(row))}: column {column + 1} is "
                f"{features[start + row, column]}",
                "every feature must be a finite number",
            )


def check_labelled(
    splits: Mapping[str, Array], where: Mapping[str, Where], labels: Array, label: Where
) -> None:
    """Check that all nodes of the splits have a label, none of which is negative.

    Args:
        splits: Node ids, by the name of the split.
        where: Places of the nodes of each.
        labels: Labels of all nodes; negative where unknown.
        label: Place of a node's label.

    Raises:
        DataError: Names the place and the node.
    """
    for name, nodes in splits.items():
        missing = labels[nodes] < 0
        if missing.any():
            row = int(np.argmax(missing))
            raise DataError(
                f"{where[name](row)}: node {nodes[row]} has no label",
                f"{label(int(nodes[row]))} must be a class",
            )


def check_splits(splits: Mapping[str, Array], where: Mapping[str, Where], num_nodes: int) -> None:
    """Check that nodes exist and that none is in two splits, or twice in one.

    Args:
        splits: Node ids, by the name of the split.
        where: Places of the nodes of each.
        num_nodes: Number of nodes that can be in a split.

    Raises:
        DataError: Names the place and the node.
    """
    seen = np.full(num_nodes, -1, dtype=np.int8)
    names = list(splits)
    for number, (name, nodes) in enumerate(splits.items()):
        check_range(nodes, num_nodes, where[name], "node")
        _, firsts = np.unique(nodes, return_index=True)
        again = np.ones(len(nodes), dtype=bool)
        again[firsts] = False
        again |= seen[nodes] >= 0
        if again.any():
            row = int(np.argmax(again))
            other = seen[nodes[row]]
            what = f"also in {names[other]!r}" if other >= 0 else "given twice"
            raise DataError(
                f"{where[name](row)}: node {nodes[row]} is {what}",
                "a node may be in one of the splits only, once",
            )
        seen[nodes] = number
