from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from orchestrator.data import DataFolders, find_data
from orchestrator.errors import DataError
from trainables.data.formats.graph_store import GraphStore
from trainables.data.sets.products_synthetic import PRODUCTS_SYNTHETIC


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> GraphStore:
    cache = tmp_path_factory.mktemp("cache")
    data = PRODUCTS_SYNTHETIC.at("0.01").prepare(DataFolders(root=cache, cache=cache))
    return GraphStore.open(data.path)


def test_has_the_size_of_the_scale(store: GraphStore) -> None:
    assert store.num_nodes == 24_490
    assert store.num_edges == 2 * 618_591
    assert store.features.shape == (24_490, 100)
    assert store.features.dtype == np.float32
    assert store.num_classes == 47
    assert store.labels.min() == 0
    assert store.labels.max() == 46


def test_is_undirected_without_loops_and_doubles(store: GraphStore) -> None:
    targets = np.repeat(np.arange(store.num_nodes), np.diff(store.indptr))
    forward = targets * store.num_nodes + store.indices
    backward = store.indices * store.num_nodes + targets
    assert len(np.unique(forward)) == store.num_edges
    assert np.array_equal(forward, np.sort(backward))
    assert not (targets == store.indices).any()


def test_is_the_same_every_time(tmp_path: Path) -> None:
    small = PRODUCTS_SYNTHETIC.at("0.001")
    first, second = (
        small.prepare(DataFolders(root=tmp_path, cache=tmp_path / name)) for name in ("a", "b")
    )
    assert first.path != second.path
    assert first.fingerprint == second.fingerprint
    assert replace(first, path=second.path) == second


def test_scales_are_named() -> None:
    assert PRODUCTS_SYNTHETIC.name == "products-synthetic"
    assert PRODUCTS_SYNTHETIC.at("1e-1").name == "products-synthetic@0.1"
    assert PRODUCTS_SYNTHETIC.at("1").name == "products-synthetic@1"
    assert find_data([PRODUCTS_SYNTHETIC], "products-synthetic@0.5").name.endswith("@0.5")
    assert PRODUCTS_SYNTHETIC.at(f"{PRODUCTS_SYNTHETIC.scale}") == PRODUCTS_SYNTHETIC


@pytest.mark.parametrize("variant", ["0", "-1", "1.5", "nan", "inf", "large", "", "0,1", "1e-9"])
def test_what_is_no_scale(variant: str) -> None:
    with pytest.raises(DataError, match=f"'{variant}' is no scale") as error:
        PRODUCTS_SYNTHETIC.at(variant)
    assert "from 0.0005 to 1" in error.value.hint
