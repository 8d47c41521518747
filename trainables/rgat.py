"""Relational graph attention on a graph with several kinds of nodes and edges.

    python -m trainables.rgat --data mag-synthetic --hidden 64 --epochs 3

The network of DGL's example for MAG240M: in every layer one graph attention for each
relation, added up onto a linear skip connection, then batch norm, ELU and dropout; a head of
two linear layers. Nodes without features get learnable ones.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn import functional

from orchestrator import (
    Trainable,
    both,
    knobs,
    learning,
    maximize,
    minimize,
    requires,
    systems,
)
from orchestrator.measurement.run import Phase, Run
from orchestrator.space.configs import replaced
from trainables.data.formats.relational_store import UNLABELLED, RelationalStore
from trainables.data.sets.mag240m import MAG240M
from trainables.data.sets.mag_synthetic import MAG_SYNTHETIC
from trainables.data.sets.ogb_hetero import OGBN_AIFB, OGBN_MAG
from trainables.graph.attention import attended, projected, softmax_over_pairs
from trainables.graph.drawing import Ids
from trainables.graph.layers import Dropout, Norm
from trainables.graph.randomness import key_of
from trainables.graph.relational import RelationalBlock
from trainables.graph.relational_batches import (
    RelationalBatch,
    most_relational_bytes,
    neighbourhoods,
)
from trainables.graph.slots import Slots
from trainables.graph.submission import check_submittable, write_submission
from trainables.graph.training_state import TrainingState
from trainables.loading import Arriving, BatchOrder, Delivery, LoadedBatches
from trainables.losses import EpochLoss
from trainables.parallel import joined_ranks
from trainables.precision import Precision
from trainables.settings import (
    PROCESS_CONSTRAINTS,
    PrefetchKnobs,
    ProcessKnobs,
    demand_of,
    pinning_needs_cuda,
    prepare_process,
    streaming_needs_pinned_batches,
)

NEGATIVE_SLOPE = 0.2
"""Of the leaky relu over attention scores."""

# -- knobs


@knobs
class RgatConfig(ProcessKnobs, PrefetchKnobs):
    """Knobs of RGAT. Defaults are the study's."""

    lr: float = learning(default=1e-3, gt=0, doc="Adam's step size")
    lr_step: int = learning(
        default=25,
        ge=1,
        unit="epochs",
        doc="lr falls every so many epochs",
        applies=lambda config: config.lr_decay < 1,
    )
    lr_decay: float = learning(default=0.25, gt=0, le=1, doc="what lr is then multiplied by")
    dropout: float = both(default=0.5, ge=0, lt=1, doc="share of hidden values set to 0")
    hidden: int = both(default=1024, ge=1, doc="width of the hidden layers, over all heads")
    heads: int = both(default=4, ge=1, doc="attention heads of each relation; divides hidden")
    fanouts: tuple[int, ...] = both(
        default=(15, 25),
        ge=-1,
        doc="neighbours a node hears from, in DGL's order, input layer first; -1: all",
    )
    batch_size: int = both(default=512, ge=1, unit="nodes", doc="seed nodes a step")
    eval_fanouts: tuple[int, ...] = learning(
        default=(160, 160),
        ge=-1,
        doc="likewise, in evaluation, which the best model is chosen by; as many layers",
    )
    eval_every: int = learning(
        default=1,
        ge=1,
        unit="epochs",
        doc="evaluate every so many epochs, and after the last: the best model is one of these",
    )
    eval_batch_size: int = systems(default=16, ge=1, unit="nodes", doc="likewise, in evaluation")
    mapped_gib: float = systems(
        default=4.0,
        gt=0,
        unit="GiB",
        doc="mapped files, libraries too, that a process has in its memory before it lets go",
    )
    submission: str = systems(
        default="",
        doc="folder for the best model's test predictions on MAG240M, written with --test",
    )


# -- network


class RelationalAttention(nn.Module):
    """Graph attention with weights of its own for each relation, and a skip connection.

    ``h'_v = skip(h_v) + sum_r concat_h sum_u softmax_u(leaky(a_rh W_rh h_u + b_rh W_rh h_v))
    W_rh h_u + c_r`` over the sources ``u`` that ``v`` hears from by relation ``r``. Equal to
    DGL's ``GATConv`` on the edges of each relation, without projecting every node once for
    each relation: scores need no projected nodes, and sums are taken before the projection.
    """

    def __init__(self, width: int, hidden: int, *, heads: int, num_relations: int) -> None:
        super().__init__()
        size = hidden // heads
        self.weight = nn.Parameter(torch.empty(num_relations, heads, size, width))
        self.of_source = nn.Parameter(torch.empty(num_relations, heads, size))
        self.of_target = nn.Parameter(torch.empty(num_relations, heads, size))
        self.bias = nn.Parameter(torch.zeros(num_relations, hidden))
        self.skip = nn.Linear(width, hidden)
        gain = nn.init.calculate_gain("relu")
        for relation in range(num_relations):
            nn.init.xavier_normal_(self.weight.data[relation].view(hidden, width), gain)
            nn.init.xavier_normal_(self.of_source.data[relation].unsqueeze(0), gain)
            nn.init.xavier_normal_(self.of_target.data[relation].unsqueeze(0), gain)

    def forward(self, x: Tensor, block: RelationalBlock) -> Tensor:
        """Outputs of the targets, ``(num_targets, hidden)``."""
        own = x[: block.num_targets]
        out: Tensor = self.skip(own) + self.bias.sum(0)
        if not len(block.sources):
            return out
        weights = softmax_over_pairs(self._scores(x, own, block), block)
        heard = attended(x, weights, block)  # (heads, pairs, width)
        parts = projected(heard, self.weight, block)  # (pairs, hidden)
        return out.index_add(0, block.targets, parts.to(out.dtype))

    def _scores(self, x: Tensor, own: Tensor, block: RelationalBlock) -> Tensor:
        """Return the attention of each target to each source, ``(num_edges, heads)``."""
        num_relations, heads = self.of_source.shape[:2]
        to_source = torch.einsum("rhsw,rhs->wrh", self.weight, self.of_source).flatten(1)
        to_target = torch.einsum("rhsw,rhs->wrh", self.weight, self.of_target).flatten(1)
        of_sources = (x @ to_source).view(-1, heads)  # a row for each source and relation
        of_targets = (own @ to_target).view(-1, heads)
        edge_relations = block.relations[block.pairs]
        scores = of_sources[block.sources * num_relations + edge_relations]
        scores = scores + of_targets[block.targets * num_relations + block.relations][block.pairs]
        return functional.leaky_relu(scores, NEGATIVE_SLOPE)


class Rgat(nn.Module):
    """Layers of relational attention, and a head."""

    def __init__(self, config: RgatConfig, store: RelationalStore) -> None:
        super().__init__()
        hidden, num_layers = config.hidden, len(config.fanouts)
        width = store.num_features or hidden
        self.embeddings = None if store.num_features else nn.Embedding(store.num_nodes, width)
        self.layers = nn.ModuleList(
            RelationalAttention(
                before, hidden, heads=config.heads, num_relations=store.num_relations
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
    store = RelationalStore.open(run.data.path)
    if config.submission:
        check_submittable(store, evaluate_test=run.evaluate_test)
    with joined_ranks(run) as ranks:
        batches = _batches(config, run, store, store.train, training=True)
        network = Rgat(config, store).to(run.device)
        optimizer = torch.optim.Adam(network.parameters(), config.lr, fused=True)
        precision = Precision(config.amp, run.device)
        state = TrainingState(network, optimizer, precision)
        state.restore(run)
        delivery = Delivery(run.device, config.non_blocking, config.prefetch, run.copying)
        loss = EpochLoss(ranks, config.log_every)
        for epoch in run.epochs():
            torch.manual_seed(key_of(run.seed, epoch))  # what dropout draws from
            for group in optimizer.param_groups:
                group["lr"] = config.lr * config.lr_decay ** (epoch // config.lr_step)
            network.train()
            arrivals = delivery.of(batches.epoch(epoch))
            for arriving in run.batches(arrivals, samples=_num_seeds):
                with run.phase(Phase.TRANSFER):
                    batch = arriving.on_device()
                with run.phase(Phase.FORWARD), precision.autocast():
                    scores = network(batch.inputs, batch.blocks)
                    summed = functional.cross_entropy(scores, batch.labels, reduction="sum")
                with run.phase(Phase.BACKWARD):
                    precision.backward(ranks.loss(summed, batch.total))
                with run.phase(Phase.OPTIMIZER):
                    precision.step(optimizer)
                    optimizer.zero_grad()
                loss.add(summed, len(batch.labels))
            figures = {"train_loss": loss.mean(epoch)}
            if run.last_epoch or (epoch + 1) % config.eval_every == 0:
                with run.evaluating():
                    state.consider(accuracy(network, config, run, store, store.val))
                figures["val_acc"] = state.val_acc
            if run.last_epoch:
                with run.evaluating():
                    figures |= figures_on_test_split(state.best(), config, run, store)
            run.report(**figures)
            state.keep(run)


def _num_seeds(arriving: Arriving[RelationalBatch]) -> int:
    return arriving.batch.total


def _batches(
    config: RgatConfig, run: Run, store: RelationalStore, nodes: Ids, *, training: bool
) -> LoadedBatches[RelationalBatch]:
    """Batches of ``nodes``, with the fan-outs and the size for training or for evaluation."""
    fanouts = config.fanouts if training else config.eval_fanouts
    order = BatchOrder(
        num_samples=len(nodes),
        batch_size=config.batch_size if training else config.eval_batch_size,
        seed=run.seed,
        drop_last=config.drop_last and training,
    )
    fetch = neighbourhoods(
        store,
        nodes,
        fanouts=fanouts,
        keys=(run.seed, int(training)),
        each_step=training,
        mapped_bytes=config.mapped_gib * 2**30,
    )
    slots = Slots.between(config, most_relational_bytes(order.batch_size, fanouts, store))
    # Workers of one evaluation would wait for the next one throughout an epoch of training.
    knobs = config if training else replaced(config, {"persistent_workers": False})
    return LoadedBatches(replace(fetch, slots=slots), order, knobs)


# -- evaluation


@torch.no_grad()
def _predicted(
    network: Rgat, config: RgatConfig, run: Run, store: RelationalStore, nodes: Ids
) -> Tensor:
    """Class of each of ``nodes``, on the CPU."""
    network.eval()
    predicted = torch.empty(len(nodes), dtype=torch.int64)
    delivery = Delivery(run.device, config.non_blocking, config.prefetch)
    batches = _batches(config, run, store, nodes, training=False)
    for arriving in delivery.of(batches.epoch(0)):
        batch = arriving.on_device()
        predicted[batch.places.cpu()] = network(batch.inputs, batch.blocks).argmax(1).cpu()
    return predicted


def accuracy(
    network: Rgat, config: RgatConfig, run: Run, store: RelationalStore, nodes: Ids
) -> float:
    """Return the share of ``nodes`` whose class is predicted."""
    right = _predicted(network, config, run, store, nodes) == torch.from_numpy(store.labels[nodes])
    return float(right.double().mean())


def figures_on_test_split(
    network: Rgat, config: RgatConfig, run: Run, store: RelationalStore
) -> dict[str, float]:
    """Return the test accuracy, if the labels are known; write the submission, if one is wanted."""
    if not run.evaluate_test:
        return {}
    labels = torch.from_numpy(store.labels[store.test])
    known = bool((labels != UNLABELLED).all())
    if not known and not config.submission:
        return {}
    predicted = _predicted(network, config, run, store, store.test)
    if config.submission:
        write_submission(Path(config.submission), store, predicted.numpy())
    return {"test_acc": float((predicted == labels).double().mean())} if known else {}


# -- what it asks of a machine


rgat = Trainable(
    train,
    RgatConfig,
    data=(MAG240M, OGBN_MAG, OGBN_AIFB, MAG_SYNTHETIC),
    reports=(maximize("val_acc"), minimize("train_loss")),
    constraints=(
        *PROCESS_CONSTRAINTS,
        pinning_needs_cuda,
        streaming_needs_pinned_batches,
        requires(lambda config: config.hidden % config.heads == 0, "heads must divide hidden"),
        requires(
            lambda config: len(config.fanouts) == len(config.eval_fanouts),
            "fanouts and eval_fanouts must be as many as each other: one for each layer",
        ),
    ),
    demand=demand_of,
    preload=("torch", "torch._dynamo", "scipy.sparse"),
)

if __name__ == "__main__":
    from orchestrator.standalone import main

    main(rgat)
