from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from orchestrator.errors import DataError
from tests.trainables.graph.stores import write_store
from trainables.data.formats.relational_store import RelationalStore
from trainables.graph.submission import check_submittable, write_submission

WHOLE, DEV, CHALLENGE = 146_818, 88_092, 58_726


@pytest.fixture
def store(tmp_path: Path) -> RelationalStore:
    """No edges, and as many test nodes as MAG240M has."""
    order = np.random.default_rng(0).permutation(150_000)
    nodes = np.arange(150_000)
    arrays = {
        "indptr": np.zeros(150_001, dtype=np.int64),
        "indices": nodes[:0],
        "edge_type": np.empty(0, dtype=np.uint8),
        "labels": nodes % 3,
        "train": order[:100],
        "val": order[100:200],
        "test": order[200 : 200 + WHOLE],
        "test_dev": order[200 : 200 + DEV][::-1],
        "test_challenge": order[200 + DEV : 200 + WHOLE],
    }
    return RelationalStore.open(write_store(tmp_path / "store", arrays).path)


def test_each_part_has_the_predictions_of_its_nodes(store: RelationalStore, tmp_path: Path) -> None:
    check_submittable(store, evaluate_test=True)
    write_submission(tmp_path / "handed" / "in", store, store.test % 7)
    files = {"": store.test, "_test-dev": store.test_dev, "_test-challenge": store.test_challenge}
    for name, nodes in files.items():
        assert nodes is not None
        with np.load(tmp_path / f"handed/in/y_pred_mag240m{name}.npz") as there:
            assert there["y_pred"].dtype == np.int16
            assert np.array_equal(there["y_pred"], nodes % 7)


def test_other_sets_are_refused_with_their_sizes(store: RelationalStore) -> None:
    with pytest.raises(DataError, match=r"no submission can be written for made: .*146817") as no:
        check_submittable(replace(store, test=store.test[1:]), evaluate_test=True)
    assert "leave submission empty" in no.value.hint
    with pytest.raises(DataError, match="no submission"):
        check_submittable(replace(store, test_dev=None, test_challenge=None), evaluate_test=True)
