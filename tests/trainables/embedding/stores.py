"""Small graph stores made by hand."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from tests.trainables.data.formats.csc_graphs import compressed
from trainables.data.formats.conversion import Conversion
from trainables.data.formats.graph_store import KIND


def store_folder(cache: Path, edges: np.ndarray, num_nodes: int, name: str = "made") -> Path:
    """A graph store in ``cache``; each of ``edges``, ``(n, 2)``, is there both ways."""

    def build(folder: Path) -> Mapping[str, int]:
        both = np.concatenate([edges, edges[:, ::-1]]).reshape(-1, 2)
        indptr, indices = compressed(both[:, 0], both[:, 1], num_nodes)
        nothing = np.empty(0, dtype=np.int64)
        arrays = {"indptr": indptr, "indices": indices, "labels": np.zeros(num_nodes, np.int64)}
        arrays |= {"features": np.zeros((num_nodes, 1), np.float32)}
        for key, array in {**arrays, "train": nothing, "val": nothing, "test": nothing}.items():
            np.save(folder / f"{key}.npy", array)
        return {"classes": 1}

    conversion = Conversion(name=name, kind=KIND, source="a test", key=name, signature="s")
    return conversion.prepare(cache, build).path


def random_edges(num_nodes: int, num_edges: int, seed: int = 0) -> np.ndarray:
    """Distinct edges without loops, ``(num_edges, 2)``, lower end first."""
    rng = np.random.default_rng(seed)
    first, second = np.triu_indices(num_nodes, k=1)
    chosen = rng.choice(len(first), num_edges, replace=False)
    return np.stack([first[chosen], second[chosen]], axis=1)
