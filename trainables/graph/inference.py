"""Layer-wise inference: every layer over all nodes, hearing from all their neighbours.

A layer is done for all nodes before the next one begins, so that no node is computed
twice, however many hear from it; the last layer is computed only where it is wanted. Rows
are done in chunks: beyond the layers' outputs the memory is that of one chunk.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import torch
from torch import Tensor

from trainables.graph.adjacency import Adjacency

CHUNK = 2**16
"""Nodes in a chunk."""


class GraphLayer(Protocol):
    """A layer, in the three parts that inference calls separately."""

    @property
    def out_features(self) -> int:
        """Width of its output."""

    def messages(self, x: Tensor) -> Tensor:
        """Return the message of each node to those that hear from it."""

    def heard(self, messages: Tensor, own: Tensor, adjacency: Adjacency) -> Tensor:
        """Return each target's aggregate of the ``messages`` it hears; without its ``own``."""

    def update(self, own: Tensor, heard: Tensor) -> Tensor:
        """Each target's output, from its own input and what it heard."""


@torch.no_grad()
def infer(layers: Sequence[GraphLayer], x: Tensor, adjacency: Adjacency, targets: Tensor) -> Tensor:
    """Outputs of a network for some nodes of a graph; relu between its layers.

    Args:
        layers: The network's layers, from input to output.
        x: Features of all nodes, ``(num_nodes, features)``; may be memory-mapped.
        adjacency: The whole graph.
        targets: Ids of the nodes wanted.

    Returns:
        ``(len(targets), classes)``.
    """
    for layer in layers[:-1]:
        x = _over_all(layer, x, adjacency)
    last = layers[-1]
    messages, outputs = last.messages(x), []
    for chunk in targets.split(CHUNK):
        heard = last.heard(messages, messages[chunk], adjacency.of(chunk))
        outputs.append(last.update(x[chunk], heard))
    return torch.cat(outputs)


def _over_all(layer: GraphLayer, x: Tensor, adjacency: Adjacency) -> Tensor:
    messages = layer.messages(x)
    outputs = x.new_empty((len(x), layer.out_features))
    for begin in range(0, len(x), CHUNK):
        end = min(begin + CHUNK, len(x))
        heard = layer.heard(messages, messages[begin:end], adjacency.between(begin, end))
        outputs[begin:end] = layer.update(x[begin:end], heard).relu_()
    return outputs
