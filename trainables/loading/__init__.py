"""Batches on their way to the training loop.

order: samples of each batch, drawn from the seed and the epoch
sources: sample by sample, whole batches, or tensors on the device
workers: a DataLoader made from the knobs
prefetch: the way to the device, within the step or ahead of it
batch: inputs and labels; how they are moved, pinned and kept alive
"""

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
