"""Figures of a network on some nodes of a graph, with all of their neighbours."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol, Self

import torch
from torch import Tensor

from trainables.classification import classified
from trainables.graph.adjacency import Adjacency
from trainables.graph.inference import GraphLayer, infer


class LayeredNetwork(Protocol):
    """A module that is a stack of layers."""

    def stack(self) -> Sequence[GraphLayer]:
        """The layers, from input to output."""

    def to(self, device: torch.device) -> Self:
        """Move it."""


@dataclass(frozen=True, kw_only=True)
class Evaluation:
    """Everything that an evaluation is computed from, where it is to be computed.

    Attributes:
        features: Features of all nodes, ``(num_nodes, features)``. The network moves to them.
        adjacency: The whole graph; it is moved there for as long as an evaluation takes.
        labels: Class of every node, ``(num_nodes,)``.
        num_cores: Cores that may be used, whatever training uses.
    """

    features: Tensor
    adjacency: Adjacency
    labels: Tensor
    num_cores: int

    def figures(self, network: LayeredNetwork, splits: Mapping[str, Tensor]) -> dict[str, float]:
        """Return the figures of :func:`~trainables.classification.classified` for each split.

        Args:
            network: Stays as it is and where it is.
            splits: Node ids by the name of the split.
        """
        device = self.features.device
        there = copy.deepcopy(network).to(device)
        nodes = torch.cat(list(splits.values()))
        if not len(nodes):
            return {}
        with _threads(self.num_cores):
            scores = infer(
                there.stack(), self.features, self.adjacency.to(device), nodes.to(device)
            )
            parts = scores.split([len(split) for split in splits.values()])
            return {
                name: figure
                for (split, of_split), part in zip(splits.items(), parts, strict=True)
                for name, figure in classified(split, part, self.labels[of_split]).items()
            }


@contextmanager
def _threads(count: int) -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)
