"""Test predictions as OGB's evaluator for MAG240M writes them, to be handed in."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from orchestrator.errors import DataError
from trainables.data.formats.ogb_loader import quiet_ogb
from trainables.data.formats.relational_store import RelationalStore
from trainables.graph.drawing import Ids

_SIZES = {"test-whole": 146_818, "test-dev": 88_092, "test-challenge": 58_726}
"""Test papers of each part, which the evaluator insists on."""


def check_submittable(store: RelationalStore, *, evaluate_test: bool) -> None:
    """Check that predictions for a set can be handed in, before anything is trained.

    Print a note if they can but this run makes none.

    Args:
        store: The graph of the predictions.
        evaluate_test: Whether the run looks at the test split.

    Raises:
        DataError: They cannot: the evaluator takes predictions for MAG240M only.
    """
    found = {name: len(nodes) for name, nodes in _parts(store).items()}
    if found != _SIZES:
        raise DataError(
            f"no submission can be written for {store.name}: its test nodes are {found}, "
            f"OGB's evaluator takes {_SIZES}",
            "leave submission empty, or train on mag240m",
        )
    if not evaluate_test:
        sys.stdout.write("NOTE: no submission is written without the test split (--test)\n")


def write_submission(folder: Path, store: RelationalStore, predicted: Ids) -> None:
    """Write a file for each part of the test nodes.

    Args:
        folder: The folder to write to; created if it is missing.
        store: The graph of the predictions.
        predicted: Class of each of ``store.test``, in its order.
    """
    with quiet_ogb():
        from ogb.lsc import MAG240MEvaluator

        evaluator = MAG240MEvaluator()
        by_id = np.argsort(store.test)
        for mode, nodes in _parts(store).items():
            places = by_id[np.searchsorted(store.test, nodes, sorter=by_id)]
            evaluator.save_test_submission(
                input_dict={"y_pred": predicted[places]}, dir_path=str(folder), mode=mode
            )


def _parts(store: RelationalStore) -> dict[str, Ids]:
    parts = {
        "test-whole": store.test,
        "test-dev": store.test_dev,
        "test-challenge": store.test_challenge,
    }
    return {name: nodes for name, nodes in parts.items() if nodes is not None}
