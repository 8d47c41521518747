"""The network of DGL's example of sampled training of GraphSAGE."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import dgl.nn
from torch import Tensor, nn
from torch.nn import functional


class Sage(nn.Module):
    """A stack of DGL's convolutions with relu and dropout between them."""

    def __init__(self, widths: list[int], aggregator: str, dropout: float) -> None:
        super().__init__()
        self.layers = nn.ModuleList(
            dgl.nn.SAGEConv(before, after, aggregator) for before, after in pairwise(widths)
        )
        self.dropout = nn.Dropout(dropout)

    def forward(self, blocks: list[Any], h: Tensor) -> Tensor:
        """Scores of the last block's targets, ``(num_targets, classes)``."""
        for index, (layer, block) in enumerate(zip(self.layers, blocks, strict=True)):
            h = layer(block, h)
            if index < len(self.layers) - 1:
                h = self.dropout(functional.relu(h))
        return h
