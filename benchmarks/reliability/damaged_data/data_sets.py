"""Small sets in each layout that trainables read, to be damaged."""

from __future__ import annotations

import gzip
import json
import struct
from collections.abc import Iterable, Sequence
from pathlib import Path
from random import Random

import numpy as np

NUM_NODES = 40
NUM_EDGES = 120
_CLASSES = 4


def homogeneous(folder: Path) -> None:
    """Make a graph with one kind of nodes in OGB's layout."""
    rng = Random(0)
    raw, split = folder / "raw", folder / "split" / "random"
    _numbers(raw / "num-node-list.csv.gz", [[NUM_NODES]])
    _numbers(raw / "num-edge-list.csv.gz", [[NUM_EDGES]])
    _numbers(raw / "edge.csv.gz", _edges(rng, NUM_NODES, NUM_NODES))
    _numbers(raw / "node-feat.csv.gz", _features(rng))
    _numbers(raw / "node-label.csv.gz", [[node % _CLASSES] for node in range(NUM_NODES)])
    _splits(split)
    description = {"split": "random", "num classes": str(_CLASSES), "is hetero": "False"}
    (folder / "meta_dict.json").write_text(json.dumps(description))


def heterogeneous(folder: Path) -> None:
    """Make a graph with two kinds of nodes in OGB's layout."""
    rng = Random(1)
    raw, split = folder / "raw", folder / "split" / "time"
    triplets = [("author", "writes", "paper"), ("paper", "cites", "paper")]
    _rows(raw / "num-node-dict.csv.gz", [["author", "paper"], [str(NUM_NODES)] * 2])
    _rows(raw / "triplet-type-list.csv.gz", triplets)
    _rows(raw / "nodetype-has-label.csv.gz", [["author", "paper"], ["False", "True"]])
    _rows(raw / "nodetype-has-feat.csv.gz", [["author", "paper"], ["False", "True"]])
    for triplet in triplets:
        home = raw / "relations" / "___".join(triplet)
        _numbers(home / "edge.csv.gz", _edges(rng, NUM_NODES, NUM_NODES))
        _numbers(home / "num-edge-list.csv.gz", [[NUM_EDGES]])
        _numbers(home / "edge_reltype.csv.gz", [[0]] * NUM_EDGES)
    _numbers(raw / "node-feat" / "paper" / "node-feat.csv.gz", _features(rng))
    labels = [[node % _CLASSES] for node in range(NUM_NODES)]
    _numbers(raw / "node-label" / "paper" / "node-label.csv.gz", labels)
    _rows(split / "nodetype-has-split.csv.gz", [["author", "paper"], ["False", "True"]])
    _splits(split / "paper")


def mag240m(folder: Path) -> None:
    """Make a graph in MAG240M's layout."""
    import torch

    rng = np.random.default_rng(2)
    home = folder / "processed"
    torch.save(
        {"author": NUM_NODES, "institution": 5, "paper": NUM_NODES, "num_classes": _CLASSES},
        _made(folder / "meta.pt"),
    )
    parts = np.split(np.arange(NUM_NODES), [20, 25, 30, 35])
    names = ("train", "valid", "test-dev", "test-challenge")
    split = dict(zip(names, parts, strict=False))
    split["test-whole"] = np.concatenate([split["test-dev"], split["test-challenge"]])
    torch.save(split, folder / "split_dict.pt")
    features = rng.standard_normal((NUM_NODES, 6)).astype(np.float16)
    np.save(_made(home / "paper" / "node_feat.npy"), features)
    np.save(home / "paper" / "node_label.npy", (np.arange(NUM_NODES) % _CLASSES).astype(float))
    np.save(home / "paper" / "node_year.npy", np.full(NUM_NODES, 2018))
    for relation, most in {
        "author___affiliated_with___institution": (NUM_NODES, 5),
        "author___writes___paper": (NUM_NODES, NUM_NODES),
        "paper___cites___paper": (NUM_NODES, NUM_NODES),
    }.items():
        edges = np.stack([rng.integers(0, end, NUM_EDGES) for end in most])
        np.save(_made(home / relation / "edge_index.npy"), edges)


def images(folder: Path) -> None:
    """Make images in MNIST's format, two files of which are packed."""
    rng = np.random.default_rng(3)
    for split, count in {"train": 60, "t10k": 20}.items():
        pixels = rng.integers(0, 256, (count, 28, 28), dtype=np.uint8)
        header = struct.pack(">4I", 2051, count, 28, 28)
        _made(folder / f"{split}-images-idx3-ubyte").write_bytes(header + pixels.tobytes())
        labels = bytes(number % 10 for number in range(count))
        with gzip.open(folder / f"{split}-labels-idx1-ubyte.gz", "wb") as file:
            file.write(struct.pack(">2I", 2049, count) + labels)


SETS = {
    "graphsage": homogeneous, "node_embedding": homogeneous, "rgat": heterogeneous,
    "rgat on MAG240M": mag240m, "lenet": images,
}  # fmt: skip
"""Makers of sets by the trainable that takes them."""


def _edges(rng: Random, num_sources: int, num_targets: int) -> list[list[int]]:
    return [[rng.randrange(num_sources), rng.randrange(num_targets)] for _ in range(NUM_EDGES)]


def _features(rng: Random) -> list[list[float]]:
    return [[round(rng.gauss(0, 1), 4) for _ in range(5)] for _ in range(NUM_NODES)]


def _splits(home: Path) -> None:
    for name, nodes in {"train": (0, 24), "valid": (24, 32), "test": (32, NUM_NODES)}.items():
        _numbers(home / f"{name}.csv.gz", [[node] for node in range(*nodes)])


def _numbers(path: Path, rows: Iterable[Sequence[float]]) -> None:
    _rows(path, [[str(number) for number in row] for row in rows])


def _rows(path: Path, rows: Iterable[Sequence[str]]) -> None:
    with gzip.open(_made(path), "wt") as file:
        file.write("".join(f"{','.join(row)}\n" for row in rows))


def _made(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    return path
