"""Checks of arrays that were read from a file with one row a line."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from orchestrator.errors import DataError
from trainables.data.arrays import Array

_CHUNK_ROWS = 1 << 16


def check_range(values: Array, limit: int, file: Path, meaning: str) -> None:
    """Checks that ``values`` (n,) or (n, k) are in ``0 .. limit - 1``.

    Args:
        values: What was read, a row a line.
        limit: First value that is too large.
        file: Where from.
        meaning: What a value is, ``label`` say.

    Raises:
        DataError: Names the line and the value.
    """
    wrong = (values < 0) | (values >= limit)
    if wrong.any():
        place = np.argwhere(wrong)[0]
        raise DataError(
            f"{file}:{place[0] + 1}: {meaning} {values[tuple(place)]} does not exist",
            f"allowed: 0 to {limit - 1}",
        )


def check_finite(features: Array, file: Path) -> None:
    """Checks that ``features`` (nodes, features) hold neither NaN nor infinity.

    Raises:
        DataError: Names the line and the column.
    """
    for start in range(0, len(features), _CHUNK_ROWS):
        wrong = ~np.isfinite(features[start : start + _CHUNK_ROWS])
        if wrong.any():
            row, column = np.argwhere(wrong)[0]
            raise DataError(
                f"{file}:{start + row + 1}: column {column + 1} is {features[start + row, column]}",
                "every feature must be a finite number",
            )


def check_splits(splits: Mapping[str, Array], files: Mapping[str, Path], num_nodes: int) -> None:
    """Checks that nodes exist and that none is in two splits, or twice in one.

    Args:
        splits: Node ids, by the name of the split.
        files: Where each was read from, a node a line.
        num_nodes: Number of nodes that can be in a split.

    Raises:
        DataError: Names the line and the node.
    """
    seen = np.full(num_nodes, -1, dtype=np.int8)
    names = list(splits)
    for number, (name, nodes) in enumerate(splits.items()):
        check_range(nodes, num_nodes, files[name], "node")
        _, firsts = np.unique(nodes, return_index=True)
        again = np.ones(len(nodes), dtype=bool)
        again[firsts] = False
        again |= seen[nodes] >= 0
        if again.any():
            line = int(np.argmax(again))
            other = seen[nodes[line]]
            where = f"also in {files[names[other]]}" if other >= 0 else "given twice"
            raise DataError(
                f"{files[name]}:{line + 1}: node {nodes[line]} is {where}",
                "a node may be in one of the splits only, once",
            )
        seen[nodes] = number
