"""RGAT as DGL's example for MAG240M has it: a subgraph for each relation in each layer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import dgl
import dgl.nn
import torch
from torch import Tensor, nn
from torch.nn import functional

if TYPE_CHECKING:
    from trainables.graph.relational import RelationalBlock
    from trainables.rgat import Rgat


class DglRgat(nn.Module):
    """The same network as :class:`trainables.rgat.Rgat`, the example's way."""

    def __init__(
        self,
        num_features: int,
        num_classes: int,
        *,
        hidden: int,
        heads: int,
        num_layers: int,
        num_relations: int,
        dropout: float,
    ) -> None:
        super().__init__()
        self.hidden = hidden
        self.heads = heads
        widths = [num_features, *[hidden] * (num_layers - 1)]
        self.convs: Any = nn.ModuleList(
            nn.ModuleList(
                dgl.nn.GATConv(width, hidden // heads, heads, allow_zero_in_degree=True)
                for _ in range(num_relations)
            )
            for width in widths
        )
        self.skips: Any = nn.ModuleList(nn.Linear(width, hidden) for width in widths)
        self.norms: Any = nn.ModuleList(nn.BatchNorm1d(hidden) for _ in widths)
        self.dropout = nn.Dropout(dropout)
        self.mlp = nn.Sequential(
            nn.Linear(hidden, hidden),
            nn.BatchNorm1d(hidden),
            nn.ReLU(),
            nn.Dropout(dropout),
            nn.Linear(hidden, num_classes),
        )

    def forward(self, blocks: list[dgl.DGLGraph], x: Tensor) -> Tensor:
        """Scores of the last block's targets, ``(num_targets, classes)``."""
        layers = zip(self.convs, self.skips, self.norms, blocks, strict=True)
        for convs, skip, norm, block in layers:
            own = x[: block.num_dst_nodes()]
            graph = dgl.block_to_graph(block)
            out = skip(own)
            for relation, conv in enumerate(convs):
                of_relation = graph.edata["etype"] == relation
                part = graph.edge_subgraph(of_relation, relabel_nodes=False)
                out = out + conv(part, (x, own)).view(-1, self.hidden)
            x = self.dropout(functional.elu(norm(out)))
        scores: Tensor = self.mlp(x)
        return scores


def dgl_blocks(blocks: tuple[RelationalBlock, ...], num_sources: int) -> list[dgl.DGLGraph]:
    """The same neighbourhoods as blocks of DGL's, relations in ``edata["etype"]``.

    Args:
        blocks: From the input to the output layer.
        num_sources: Sources of the first.
    """
    made = []
    for block in blocks:
        there = dgl.create_block(
            (block.sources, block.targets[block.pairs]),
            num_src_nodes=num_sources,
            num_dst_nodes=block.num_targets,
        )
        there.edata["etype"] = block.relations[block.pairs]
        made.append(there)
        num_sources = block.num_targets
    return made


@torch.no_grad()
def take_weights(theirs: DglRgat, ours: Rgat) -> None:
    """Give ``theirs`` the weights of ``ours``."""
    layers: Any = ours.layers
    for convs, skip, norm, layer, our_norm in zip(
        theirs.convs, theirs.skips, theirs.norms, layers, ours.norms, strict=True
    ):
        skip.load_state_dict(layer.skip.state_dict())
        norm.load_state_dict(our_norm.state_dict())
        for relation, conv in enumerate(convs):
            conv.fc.weight.copy_(layer.weight[relation].flatten(0, 1))
            conv.attn_l.copy_(layer.of_source[relation])
            conv.attn_r.copy_(layer.of_target[relation])
            conv.bias.copy_(layer.bias[relation])
    theirs.mlp.load_state_dict(ours.head.state_dict())


def gradients(theirs: DglRgat) -> dict[str, Tensor | None]:
    """Gradients of ``theirs`` by the names of our parameters."""
    found: dict[str, Tensor | None] = {}
    for index, convs in enumerate(theirs.convs):
        matrices = [conv.fc.weight.grad.unflatten(0, (theirs.heads, -1)) for conv in convs]
        found[f"layers.{index}.weight"] = torch.stack(matrices)
        found[f"layers.{index}.of_source"] = torch.cat([conv.attn_l.grad for conv in convs])
        found[f"layers.{index}.of_target"] = torch.cat([conv.attn_r.grad for conv in convs])
        found[f"layers.{index}.bias"] = torch.stack([conv.bias.grad for conv in convs])
    others = {"layers.{}.skip": theirs.skips, "norms.{}": theirs.norms, "head": [theirs.mlp]}
    for name, modules in others.items():
        for index, module in enumerate(modules):
            for of_module, value in module.named_parameters():
                found[f"{name.format(index)}.{of_module}"] = value.grad
    return found
