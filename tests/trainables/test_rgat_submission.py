"""Predictions of rgat for the test nodes of MAG240M, as they are handed in."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from orchestrator.data import PreparedData
from orchestrator.errors import DataError
from tests.trainables.graph.stores import write_store
from tests.trainables.rgat_runs import TINY, quick
from tests.trainables.running import Reports, context, train_once
from trainables.rgat import rgat


@pytest.fixture
def as_mag240m(tmp_path: Path) -> PreparedData:
    """A set with as many test nodes as MAG240M has, their labels unknown as there."""
    nodes = np.arange(147_000)
    labels = nodes % 3
    labels[182:] = -1
    test = nodes[182:]
    arrays = {
        "indptr": np.arange(147_001),
        "indices": np.roll(nodes, 1),
        "edge_type": (nodes % 2).astype(np.uint8),
        "features": np.eye(3, 8, dtype=np.float16)[nodes % 3],
        "labels": labels,
        "train": nodes[:120],
        "val": nodes[120:182],
        "test": test,
        "test_dev": test[:88_092],
        "test_challenge": test[88_092:],
    }
    return write_store(tmp_path / "store", arrays)


def handing_in(data: PreparedData, folder: Path, *, epochs: int, evaluate_test: bool) -> Reports:
    config = quick(submission=str(folder), test_batch_size=30_000, lr=0.05, dropout=0.0)
    where = context(TINY, epochs=epochs, evaluate_test=evaluate_test)
    return train_once(rgat, config, replace(where, data=data))


def test_test_predictions_of_the_best_model_are_handed_in(
    as_mag240m: PreparedData, tmp_path: Path
) -> None:
    reports = handing_in(as_mag240m, tmp_path / "out", epochs=6, evaluate_test=True)
    assert reports.metric("val_acc")[-1] == 1
    assert reports.metric("test_acc") == []  # it is unknown here
    with np.load(tmp_path / "out" / "y_pred_mag240m_test-dev.npz") as handed_in:
        assert np.array_equal(handed_in["y_pred"], np.arange(182, 182 + 88_092) % 3)
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        "y_pred_mag240m.npz",
        "y_pred_mag240m_test-challenge.npz",
        "y_pred_mag240m_test-dev.npz",
    ]


def test_a_run_that_does_not_look_at_the_test_split_says_that_it_hands_nothing_in(
    as_mag240m: PreparedData, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    handing_in(as_mag240m, tmp_path / "out", epochs=1, evaluate_test=False)
    assert "no submission is written" in capsys.readouterr().out
    assert not (tmp_path / "out").exists()


def test_no_submission_is_promised_for_another_set(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no submission can be written for mag-synthetic@1e-05"):
        train_once(rgat, quick(submission=str(tmp_path)), context(TINY))
