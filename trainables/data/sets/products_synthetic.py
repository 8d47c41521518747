"""products-synthetic: a generated graph with ogbn-products' shape, at any scale up to its own.

It shares with the real one: the number of nodes and edges (times the scale), degrees
that fall as a power law, 47 unequal classes that nodes are more often joined within, 100
features, and a split by popularity. So the nodes to test on have fewer neighbours, and a
model scores lower on them. No figure from it applies to products.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from orchestrator.data import DataFolders, PreparedData
from trainables.data.formats.arrays import Array
from trainables.data.formats.conversion import Conversion
from trainables.data.formats.graph_store import KIND
from trainables.data.sets.community_graph import (
    Communities,
    both_directions,
    draw_communities,
    draw_edges,
)
from trainables.data.sets.scales import GeneratedSet

NUM_CLASSES = 47
NUM_FEATURES = 100

_NAME = "products-synthetic"
_VERSION = 1
_SEED = 0
_NUM_NODES = 2_449_029
_NUM_EDGES = 61_859_140
_DEFAULT_SCALE = 0.03
_SMALLEST_SCALE = 0.0005
_TRAIN_SHARE, _VAL_SHARE = 0.10, 0.02

_COMMUNITY_SPREAD = 0.5
"""Deviation of communities' centres from their class's centre, which has a deviation of 1."""
_NOISE = 5.0
"""Deviation of a node's features from its community's centre."""
_MISLABELLED = (0.08, 0.25)
"""Share of nodes with a random label: among the most popular ones, among the least."""
_CHUNK_NODES = 1 << 16


@dataclass(frozen=True, kw_only=True)
class ProductsSynthetic(GeneratedSet):
    """The data set ``products-synthetic``, or ``products-synthetic@SCALE``.

    Attributes:
        scale: Its size as a share of ogbn-products'.
    """

    scale: float = _DEFAULT_SCALE

    base_name = _NAME
    default_scale = _DEFAULT_SCALE
    smallest_scale = _SMALLEST_SCALE

    def prepare(self, folders: DataFolders, *, download: bool = False) -> PreparedData:
        """Generate it once. See :class:`orchestrator.data.DataSet`."""
        conversion = Conversion(
            name=self.name,
            kind=KIND,
            source=f"generated, seed {_SEED}",
            key=f"{self.name}-v{_VERSION}",
            signature=f"seed-{_SEED}",
        )
        return conversion.prepare(folders.cache, self._generate)

    def _generate(self, folder: Path) -> Mapping[str, int]:
        num_nodes, num_edges = round(_NUM_NODES * self.scale), round(_NUM_EDGES * self.scale)
        rng = np.random.default_rng(_SEED)
        communities = draw_communities(num_nodes, NUM_CLASSES, rng)
        names = rng.permutation(num_nodes).astype(np.int32)
        edges = draw_edges(communities, num_edges, names, rng)
        indptr, indices = both_directions(edges, num_nodes)
        del edges
        np.save(folder / "indptr.npy", indptr)
        np.save(folder / "indices.npy", indices)
        del indices
        by_popularity = _by_popularity(np.diff(indptr), rng)
        node_at = np.argsort(names)
        np.save(folder / "labels.npy", _labels(communities, node_at, by_popularity, rng))
        _write_features(folder / "features.npy", communities, node_at, rng)
        sizes = _write_splits(folder, by_popularity)
        return {
            "nodes": num_nodes,
            "edges": 2 * num_edges,
            "features": NUM_FEATURES,
            "classes": NUM_CLASSES,
            **sizes,
        }


PRODUCTS_SYNTHETIC = ProductsSynthetic()


def _by_popularity(degrees: Array, rng: np.random.Generator) -> Array:
    """Nodes, those with most edges first; chance decides between equals."""
    return np.lexsort((rng.random(len(degrees)), -degrees))


def _labels(
    communities: Communities, node_at: Array, by_popularity: Array, rng: np.random.Generator
) -> Array:
    """Return the class of each node, int64; some labels are drawn at random."""
    labels = communities.class_of[node_at].astype(np.int64)
    low, high = _MISLABELLED
    rank = np.empty(len(labels))
    rank[by_popularity] = np.linspace(0, 1, len(labels))
    wrong = np.flatnonzero(rng.random(len(labels)) < low + (high - low) * rank)
    labels[wrong] = communities.class_of[rng.integers(0, len(labels), len(wrong))]
    return labels


def _write_features(
    file: Path, communities: Communities, node_at: Array, rng: np.random.Generator
) -> None:
    centres = _centres(communities, rng)
    shape = (communities.num_nodes, NUM_FEATURES)
    features = np.lib.format.open_memmap(file, mode="w+", dtype=np.float32, shape=shape)
    for start in range(0, communities.num_nodes, _CHUNK_NODES):
        community = communities.community_of[node_at[start : start + _CHUNK_NODES]]
        chunk = rng.standard_normal((len(community), NUM_FEATURES), dtype=np.float32)
        chunk *= np.float32(_NOISE)
        chunk += centres[community]
        features[start : start + _CHUNK_NODES] = chunk
    features.flush()


def _centres(communities: Communities, rng: np.random.Generator) -> Array:
    """Mean features of each community, float32."""
    classes = rng.standard_normal((communities.num_classes, NUM_FEATURES), dtype=np.float32)
    shape = (communities.num_communities, NUM_FEATURES)
    spread = rng.standard_normal(shape, dtype=np.float32) * np.float32(_COMMUNITY_SPREAD)
    _, firsts = np.unique(communities.community_of, return_index=True)
    class_of = np.zeros(communities.num_communities, dtype=np.int64)
    class_of[communities.community_of[firsts]] = communities.class_of[firsts]
    return classes[class_of] + spread


def _write_splits(folder: Path, by_popularity: Array) -> dict[str, int]:
    num_train = round(len(by_popularity) * _TRAIN_SHARE)
    num_val = round(len(by_popularity) * _VAL_SHARE)
    parts = np.split(by_popularity, [num_train, num_train + num_val])
    sizes = {}
    for name, nodes in zip(("train", "val", "test"), parts, strict=True):
        np.save(folder / f"{name}.npy", np.sort(nodes))
        sizes[name] = len(nodes)
    return sizes
