"""Relational graph attention on a graph with several kinds of nodes and edges.

    python -m trainables.rgat --data mag-synthetic --hidden 64 --epochs 3

The network of DGL's example for MAG240M: in every layer one graph attention for each
relation, added up onto a linear skip connection, then batch norm, ELU and dropout; a head of
two linear layers. Nodes without features get learnable ones.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn import functional

from orchestrator import Phase, Run, Trainable, minimize, requires
from trainables.classification import OBJECTIVES, classified
from trainables.compiling import COMPILE_CONSTRAINTS, compiled
from trainables.data.formats.relational_store import UNLABELLED, RelationalStore
from trainables.data.sets.mag240m import MAG240M
from trainables.data.sets.mag_synthetic import MAG_SYNTHETIC
from trainables.data.sets.ogb_hetero import OGBN_AIFB, OGBN_MAG
from trainables.graph.attention import RelationalAttention
from trainables.graph.drawing import Ids
from trainables.graph.layers import Dropout, Norm
from trainables.graph.on_device.relational_graph import RelationalGraph
from trainables.graph.places.placement import PLACEMENT_CONSTRAINTS
from trainables.graph.randomness import key_of
from trainables.graph.relational import RelationalBlock
from trainables.graph.relational_batches import RelationalBatch
from trainables.graph.submission import check_submittable, write_submission
from trainables.graph.training_state import TrainingState
from trainables.graph_knobs import RgatConfig
from trainables.hold_out import trained_on
from trainables.loading import (
    Arriving,
    BatchOrder,
    Delivery,
    LoadedBatches,
)
from trainables.losses import EpochLoss
from trainables.parallel import joined_ranks
from trainables.precision import Precision
from trainables.settings import (
    LOADER_CONSTRAINTS,
    PROCESS_CONSTRAINTS,
    demand_of,
    prepare_process,
    streaming_needs_pinned_batches,
)

__all__ = ["Rgat", "RgatConfig", "rgat"]

Split = Literal["train", "val", "test"]

# -- network


class Rgat(nn.Module):
    """Layers of relational attention, and a head."""

    def __init__(self, config: RgatConfig, store: RelationalStore) -> None:
        super().__init__()
        hidden, num_layers = config.hidden, len(config.fanouts)
        width = store.num_features or hidden
        self.embeddings = None if store.num_features else nn.Embedding(store.num_nodes, width)
        if self.embeddings is not None and config.embedding_init == "xavier":
            nn.init.xavier_uniform_(self.embeddings.weight)
        self.layers = nn.ModuleList(
            RelationalAttention(
                before,
                hidden,
                heads=config.heads,
                num_relations=store.num_relations,
                compiles=config.compile != "off",
            )
            for before in (width, *[hidden] * (num_layers - 1))
        )
        self.norms = nn.ModuleList(Norm(hidden) for _ in range(num_layers))
        self.dropout = Dropout(config.dropout)
        self.head = nn.Sequential(
            nn.Linear(hidden, hidden),
            Norm(hidden),
            nn.ReLU(),
            Dropout(config.dropout),
            nn.Linear(hidden, store.num_classes),
        )

    def forward(self, inputs: Tensor, blocks: tuple[RelationalBlock, ...]) -> Tensor:
        """Scores of the last block's targets, ``(num_targets, classes)``.

        Args:
            inputs: Features of the first block's sources; their ids where there are none.
            blocks: One for each layer.
        """
        if self.embeddings is None:
            h = inputs.to(next(self.parameters()).dtype)
        else:
            h = self.embeddings(inputs)
        for layer, norm, block in zip(self.layers, self.norms, blocks, strict=True):
            h = self.dropout(functional.elu(norm(layer(h, block))))
        scores: Tensor = self.head(h)
        return scores


# -- training


def train(config: RgatConfig, run: Run) -> None:
    """Train for the run's budget; reports after each epoch."""
    prepare_process(config, run)
    store = trained_on(RelationalStore.open(run.data.path), config)
    if config.submission:
        check_submittable(store, evaluate_test=run.evaluate_test)
    if len(store.train) <= config.batch_size:
        sys.stdout.write(
            f"NOTE: an epoch is one step: batch_size={config.batch_size}, {len(store.train)} nodes "
            "to train on; smaller batches or more epochs train further\n"
        )
    with joined_ranks(run) as ranks:
        graph = RelationalGraph.of(store, config, run)
        batches = _batches(config, run, graph, "train")
        network = Rgat(config, store).to(run.device)
        # Evaluation and checkpoints use the network itself, the steps what is wrapped around it.
        trained = ranks.parallel(compiled(network, config.compile, is_one_shape=False), "ddp")
        optimizer = torch.optim.Adam(
            network.parameters(), config.scaled_lr(), weight_decay=config.weight_decay, fused=True
        )
        precision = Precision(config.amp, run.device)
        state = TrainingState(network, optimizer, precision)
        state.restore(run)
        delivery = Delivery(run.device, config.non_blocking, config.prefetch, run.copying)
        loss = EpochLoss(ranks, run, config.log_every)
        for epoch in run.epochs():
            torch.manual_seed(key_of(run.seed, epoch) ^ run.rank)  # what dropout draws from
            for group in optimizer.param_groups:
                group["lr"] = config.scaled_lr() * config.lr_decay ** (epoch // config.lr_step)
            network.train()
            arrivals = delivery.of(batches.epoch(epoch))
            for arriving in run.batches(arrivals, samples=_num_seeds):
                with run.phase(Phase.TRANSFER):
                    parts = arriving.on_device()
                for part in parts:
                    ranks.exchange_gradients(trained, part is parts[-1])
                    with run.phase(graph.phase):
                        inputs = graph.looked_up(part.inputs)
                    with run.phase(Phase.FORWARD), precision.autocast():
                        scores = trained(inputs, part.blocks)
                        summed = functional.cross_entropy(scores, part.labels, reduction="sum")
                    with run.phase(Phase.BACKWARD):
                        precision.backward(ranks.loss(summed, part.total))
                    loss.add_part(summed, len(part.labels))
                with run.phase(Phase.OPTIMIZER):
                    precision.step(optimizer)
                    optimizer.zero_grad()
                loss.end_step()
            figures = {"train_loss": loss.mean(epoch)}
            is_due = (epoch + 1) % config.eval_every == 0
            if run.rank == 0 and run.evaluates and (run.last_epoch or is_due):
                # An evaluation for a pause alone is not kept: the curve resumes without it.
                best = state if is_due else replace(state)
                best.consider(_validated(network, config, run, graph))
                figures |= best.figures
                if run.last_epoch and run.evaluate_test:
                    with run.evaluating():
                        figures |= figures_on_test_split(best.best(), config, run, graph)
            run.report(**figures)
            state.keep(run)


def _num_seeds(arriving: Arriving[tuple[RelationalBatch, ...]]) -> int:
    return arriving.batch[0].total


def _batches(
    config: RgatConfig, run: Run, graph: RelationalGraph, split: Split
) -> LoadedBatches[tuple[RelationalBatch, ...]]:
    """Micro-batches of a split's nodes, with its fan-outs and its size."""
    training, nodes = split == "train", _nodes(graph.store, split)
    fanouts, batch_size = {
        "train": (config.fanouts, config.batch_size),
        "val": (config.eval_fanouts, config.eval_batch_size),
        "test": (config.test_fanouts, config.test_batch_size),
    }[split]
    order = BatchOrder(
        num_samples=len(nodes),
        batch_size=batch_size,
        seed=run.seed,
        drop_last=config.drop_last and training,
        rank=run.rank if training else 0,
        world_size=run.world_size if training else 1,
    )
    return graph.batches(order, nodes, fanouts, config, training=training)


def _nodes(store: RelationalStore, split: Split) -> Ids:
    nodes: Ids = getattr(store, split)
    return nodes


# -- evaluation


@torch.no_grad()
def _scores(
    network: Rgat, config: RgatConfig, run: Run, graph: RelationalGraph, split: Split
) -> Tensor:
    """Scores of each of a split's nodes, ``(nodes, classes)``, on the CPU."""
    network.eval()
    scores = torch.empty(len(_nodes(graph.store, split)), graph.store.num_classes)
    delivery = Delivery(run.device, config.non_blocking, config.prefetch)
    batches = _batches(config, run, graph, split)
    for arriving in delivery.of(batches.epoch(0)):
        [batch] = arriving.on_device()
        inputs = graph.looked_up(batch.inputs)
        scores[batch.places.cpu()] = network(inputs, batch.blocks).cpu()
    return scores


def figures_on(
    network: Rgat, config: RgatConfig, run: Run, graph: RelationalGraph, split: Split
) -> dict[str, float]:
    """Return the figures of a split with known labels; none of one without nodes."""
    labels = torch.from_numpy(graph.store.labels[_nodes(graph.store, split)])
    if not len(labels):
        return {}
    return classified(split, _scores(network, config, run, graph, split), labels)


def _validated(
    network: Rgat, config: RgatConfig, run: Run, graph: RelationalGraph
) -> dict[str, float]:
    if not len(graph.store.val):  # no validation nodes: no time is spent on them
        return {}
    with run.evaluating():
        return figures_on(network, config, run, graph, "val")


def figures_on_test_split(
    network: Rgat, config: RgatConfig, run: Run, graph: RelationalGraph
) -> dict[str, float]:
    """Return the test figures, if the labels are known; write the submission, if one is wanted."""
    store = graph.store
    labels = torch.from_numpy(store.labels[store.test])
    known = bool((labels != UNLABELLED).all())
    if not known and not config.submission:
        return {}
    scores = _scores(network, config, run, graph, "test")
    if config.submission:
        write_submission(Path(config.submission), store, scores.argmax(1).numpy())
    return classified("test", scores, labels) if known else {}


rgat = Trainable(
    train,
    RgatConfig,
    data=(MAG240M, OGBN_MAG, OGBN_AIFB, MAG_SYNTHETIC),
    reports=(*OBJECTIVES, minimize("train_loss")),
    constraints=(
        *PROCESS_CONSTRAINTS,
        *LOADER_CONSTRAINTS,
        streaming_needs_pinned_batches,
        *PLACEMENT_CONSTRAINTS,
        *COMPILE_CONSTRAINTS,
        requires(lambda config: config.hidden % config.heads == 0, "heads must divide hidden"),
        requires(
            lambda config: (
                len(config.fanouts) == len(config.eval_fanouts) == len(config.test_fanouts)
            ),
            "fanouts, eval_fanouts and test_fanouts must be as many as each other: "
            "one for each layer",
        ),
    ),
    demand=demand_of,
    preload=("torch", "torch._dynamo", "scipy.sparse"),
    keeps_checkpoints=True,
    warm=True,
)

if __name__ == "__main__":
    from orchestrator.standalone import main

    main(rgat)
