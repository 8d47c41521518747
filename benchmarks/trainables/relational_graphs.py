"""Small relational graphs without features, generated in OGB's layout.

In both, few nodes have a label to learn from, and what decides a node's class can be read off its
neighbours alone.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.int64]
Triplet = tuple[str, str, str]

META: Final = {
    "is hetero": "True",
    "binary": "False",
    "task type": "multiclass classification",
    "split": "random",
}


@dataclass(frozen=True, kw_only=True, eq=False)
class RelationalGraph:
    """A graph whose ``item`` nodes have a class each, known of all.

    Attributes:
        num_nodes: By node type; ``item`` is one of them.
        edges: ``(2, edges)``, sources and targets, by relation; without inverses.
        labels: Class of each item.
        splits: Items by ``train``, ``valid`` and ``test``.
    """

    num_nodes: Mapping[str, int]
    edges: Mapping[Triplet, Numbers]
    labels: Numbers
    splits: Mapping[str, Numbers]

    def write(self, folder: Path) -> None:
        """Write it in OGB's heterogeneous layout."""
        types = sorted(self.num_nodes)
        counts: list[Sequence[object]] = [types, [self.num_nodes[name] for name in types]]
        _write(folder / "raw/num-node-dict.csv.gz", counts)
        has_label: list[Sequence[object]] = [types, [name == "item" for name in types]]
        _write(folder / "raw/nodetype-has-label.csv.gz", has_label)
        _write(folder / "raw/triplet-type-list.csv.gz", list(self.edges))
        for triplet, ends in self.edges.items():
            relation = folder / "raw/relations" / "___".join(triplet)
            _write(relation / "edge.csv.gz", ends.T.tolist())
            _write(relation / "num-edge-list.csv.gz", [[ends.shape[1]]])
        _write(folder / "raw/node-label/item/node-label.csv.gz", self.labels[:, None].tolist())
        _write(folder / "split/random/nodetype-has-split.csv.gz", has_label)
        for name, nodes in self.splits.items():
            _write(folder / f"split/random/item/{name}.csv.gz", nodes[:, None].tolist())
        meta = {**META, "num classes": int(self.labels.max()) + 1}
        (folder / "meta_dict.json").write_text(json.dumps(meta))


def citations(*, num_items: int = 1200, num_classes: int = 6, seed: int = 0) -> RelationalGraph:
    """Generate items that cite items of their own class mostly, and share tags with them.

    A fifth of them has labels to train on, a tenth validates.
    """
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, num_classes, num_items)
    num_authors, num_tags = num_items // 4, 40
    of_author, of_tag = (rng.integers(0, num_classes, n) for n in (num_authors, num_tags))
    cites = _homophilous(rng, labels, labels, num_each=2, share=0.7)
    edges = {
        ("item", "cites", "item"): cites[:, cites[0] != cites[1]],
        ("author", "writes", "item"): _homophilous(rng, labels, of_author, num_each=2, share=0.5)[
            ::-1
        ],
        ("item", "has", "tag"): _homophilous(rng, labels, of_tag, num_each=3, share=0.3),
    }
    num_nodes = {"item": num_items, "author": num_authors, "tag": num_tags}
    shares = {"train": 0.2, "valid": 0.1, "test": 0.7}
    return RelationalGraph(
        num_nodes=num_nodes, edges=edges, labels=labels, splits=_splits(rng, num_items, shares)
    )


def molecules(*, num_items: int = 700, seed: int = 0) -> RelationalGraph:
    """Generate items of two classes, each with parts of its own, of few kinds.

    The class follows from the groups that an item shares with others; its own parts say nothing,
    and a vector learnt for them says which item it is. 218 are trained on, 54 validate, and the
    rest tests.
    """
    rng = np.random.default_rng(seed)
    num_groups, parts_of_item, num_kinds = 30, 16, 8
    weight = rng.normal(size=num_groups)
    has = rng.random((num_items, num_groups)) < rng.uniform(0.05, 0.3, num_groups)
    score = has @ weight + rng.normal(scale=0.5, size=num_items)
    labels = (score > np.quantile(score, 0.64)).astype(np.int64)
    owner = np.repeat(np.arange(num_items), parts_of_item)
    parts = np.arange(len(owner))
    beside = np.roll(parts, -1)
    within = owner == owner[beside]
    edges = {
        ("item", "has", "group"): np.stack(np.nonzero(has)),
        ("item", "consists_of", "part"): np.stack([owner, parts]),
        ("part", "is_a", "kind"): np.stack([parts, rng.integers(0, num_kinds, len(parts))]),
    }
    bonds = rng.integers(0, 3, len(parts))
    for bond in range(3):
        chosen = within & (bonds == bond)
        edges["part", f"bond_{bond}", "part"] = np.stack([parts[chosen], beside[chosen]])
    num_nodes = {"item": num_items, "group": num_groups, "part": len(parts), "kind": num_kinds}
    shares = {"train": 218 / num_items, "valid": 54 / num_items, "test": 1 - 272 / num_items}
    return RelationalGraph(
        num_nodes=num_nodes, edges=edges, labels=labels, splits=_splits(rng, num_items, shares)
    )


def _homophilous(
    rng: np.random.Generator, sources: Numbers, targets: Numbers, *, num_each: int, share: float
) -> Numbers:
    """Draw edges from each source: to targets of its class with a probability, else to any."""
    first = np.repeat(np.arange(len(sources)), num_each)
    second = rng.integers(0, len(targets), len(first))
    for label in np.unique(sources):
        ours = np.flatnonzero((sources[first] == label) & (rng.random(len(first)) < share))
        alike = np.flatnonzero(targets == label)
        if len(alike):
            second[ours] = rng.choice(alike, len(ours))
    return np.stack([first, second])


def _splits(
    rng: np.random.Generator, num_items: int, shares: Mapping[str, float]
) -> dict[str, Numbers]:
    ends = np.cumsum([round(share * num_items) for share in shares.values()])[:-1]
    parts = np.split(rng.permutation(num_items), ends)
    return {name: np.sort(part) for name, part in zip(shares, parts, strict=True)}


def _write(path: Path, rows: Sequence[Sequence[object]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    text = "".join(",".join(map(str, row)) + "\n" for row in rows)
    path.write_bytes(gzip.compress(text.encode(), compresslevel=1))
