"""Mini-batches of skip-gram pairs: centres, sampled neighbours, contexts and negatives."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from trainables.embedding.pairs import Pairs
from trainables.graph.drawing import Ids, UniformDraw
from trainables.graph.randomness import key_of, random_bits
from trainables.graph.slots import Slots
from trainables.loading import BatchOrder, Draw

_NEIGHBOURS, _NEGATIVES = range(2)
NOISE_POWER = 0.75
"""Negatives are drawn in proportion to degree to this power."""


class PairBatch(NamedTuple):
    """One rank's share of a step's batch: node positions, not their embeddings.

    Attributes:
        centres: ``(share,)`` int64.
        heard: Sampled neighbours of each centre, ``(share, neighbours)``.
        contexts: A context that goes with each centre, then those that do not:
            ``(share, 1 + negatives)``.
        total: Pairs of the whole batch, over all ranks.
    """

    centres: Tensor
    heard: Tensor
    contexts: Tensor
    total: int


@dataclass(frozen=True, kw_only=True)
class EpochOrder(BatchOrder):
    """An epoch over a part of the samples, drawn anew for each.

    Attributes:
        num_all: Samples that an epoch's ``num_samples`` are drawn from.
    """

    num_all: int

    def permutation(self, epoch: int) -> NDArray[np.int64]:
        """The samples of ``epoch``, in its order, ``(num_samples,)``."""
        if self.num_samples == self.num_all:
            return super().permutation(epoch)
        rng = np.random.default_rng((self.seed, epoch))
        return rng.choice(self.num_all, self.num_samples, replace=False)


class Noise:
    """Distribution of negatives: nodes in proportion to their degree to the power 0.75.

    A walk comes by a node in proportion to its degree; the power is word2vec's. Mikolov et
    al., "Distributed representations of words and phrases", 2013.
    """

    def __init__(self, degrees: Ids) -> None:
        weights = np.cumsum(degrees.astype(np.float64) ** NOISE_POWER)
        self._limits = weights / weights[-1]

    def draw(self, numbers: Ids, count: int, key: int) -> Ids:
        """``count`` nodes for each of ``numbers``, ``(len(numbers), count)``."""
        uniform = (random_bits(numbers, count, key) + 0.5) * 2.0**-32
        return np.searchsorted(self._limits, uniform)


@dataclass(frozen=True, kw_only=True)
class FetchPairs:
    """Maker of the mini-batch that a draw stands for.

    The sample depends on the seed, the epoch, the step and the pair alone, so that
    ranks share the sample that one process would draw.

    Attributes:
        pairs: All of them.
        neighbours: Draws neighbours of the centres.
        num_neighbours: For each centre.
        noise: Draws negatives.
        num_negatives: For each pair.
        seed: Seed of the trial.
        slots: How a worker hands its batches over; None without workers.
    """

    pairs: Pairs
    neighbours: UniformDraw
    num_neighbours: int
    noise: Noise
    num_negatives: int
    seed: int
    slots: Slots | None

    def __call__(self, draw: Draw) -> PairBatch:
        """The mini-batch of ``draw``."""
        batch = self._batch(draw)
        return batch if self.slots is None else self.slots.shipped(batch)

    def _batch(self, draw: Draw) -> PairBatch:
        centres, contexts = self.pairs(draw.indices).T
        keys = (self.seed, draw.epoch, draw.step)
        # Every centre has a neighbour: a walk came to it.
        heard = self.neighbours(centres, self.num_neighbours, key_of(*keys, _NEIGHBOURS))
        negatives = self.noise.draw(draw.indices, self.num_negatives, key_of(*keys, _NEGATIVES))
        return PairBatch(
            centres=torch.from_numpy(np.ascontiguousarray(centres)),
            heard=torch.from_numpy(heard.ids).view(-1, self.num_neighbours),
            contexts=torch.from_numpy(np.column_stack([contexts, negatives])),
            total=draw.total,
        )


def most_bytes(num_pairs: int, num_neighbours: int, num_negatives: int) -> int:
    """Bytes that a mini-batch of ``num_pairs`` takes at most, each array aligned."""
    return 8 * num_pairs * (2 + num_neighbours + num_negatives) + 256
