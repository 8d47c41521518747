"""Batch sources, the order of samples, loader workers, and the way to the device."""

from trainables.loading.batch import Batch, keep_for, moved, num_samples, pinned
from trainables.loading.order import BatchOrder, Draw
from trainables.loading.prefetch import Arriving, Delivery
from trainables.loading.sources import (
    Batched,
    Batches,
    PerSample,
    ResidentBatches,
    StagedBatches,
    WholeSet,
)
from trainables.loading.workers import Fetch, LoadedBatches

__all__ = [
    "Arriving",
    "Batch",
    "BatchOrder",
    "Batched",
    "Batches",
    "Delivery",
    "Draw",
    "Fetch",
    "LoadedBatches",
    "PerSample",
    "ResidentBatches",
    "StagedBatches",
    "WholeSet",
    "keep_for",
    "moved",
    "num_samples",
    "pinned",
]
