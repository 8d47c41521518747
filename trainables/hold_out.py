"""Validation nodes of a graph: held out to choose settings by, or trained on like the others."""

from __future__ import annotations

from dataclasses import replace
from typing import TypeVar

import numpy as np

from orchestrator import knobs, learning
from trainables.data.formats.graph_store import GraphStore
from trainables.data.formats.relational_store import RelationalStore

S = TypeVar("S", GraphStore, RelationalStore)


@knobs
class HoldOutKnobs:
    """Knobs of the nodes that are trained on."""

    hold_out: bool = learning(
        default=True,
        doc="keep the split's validation nodes apart; False: train on them too, no val_acc",
    )


def trained_on(store: S, config: HoldOutKnobs) -> S:
    """Return the store with the nodes to train on and to validate with that a config asks for."""
    if config.hold_out:
        return store
    both = np.sort(np.concatenate([store.train, store.val]))
    return replace(store, train=both, val=store.val[:0])
