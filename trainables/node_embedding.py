"""Node embeddings kept outside the graph: skip-gram over random walks, as GATNE does it.

    python -m trainables.node_embedding --data ogbn-products --num-workers 2 --epochs 2

A node's vector is its row of a table plus a part from its sampled neighbours' rows. It learns to
distinguish pairs of nodes that walks bring together from random pairs, and is judged by predicting
edges that were held out. Cen et al., "Representation learning for attributed multiplex
heterogeneous network", 2019.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import torch
from torch import nn

from orchestrator import (
    Phase,
    Run,
    Trainable,
    both,
    knobs,
    learning,
    maximize,
    requires,
    systems,
)
from trainables.checkpoints import Progress
from trainables.data.sets.ogbn_products import OGBN_PRODUCTS_EDGES
from trainables.data.sets.products_synthetic import PRODUCTS_SYNTHETIC
from trainables.embedding.link_prediction import LinkPrediction
from trainables.embedding.link_split import HeldOut, LinkSplit
from trainables.embedding.minibatch import EpochOrder, FetchPairs, Noise, PairBatch, most_bytes
from trainables.embedding.pairs import PairContainer, held_in, pairs_of
from trainables.embedding.tables import (
    Aggregation,
    EmbeddingKind,
    EmbeddingTables,
    TablePlacement,
    TwoOptimizers,
    skip_gram_loss,
)
from trainables.embedding.walks import WalkPlan, cached_walks
from trainables.graph.components import GraphScope
from trainables.graph.drawing import UniformDraw
from trainables.graph.slots import Slots
from trainables.loading import Arriving, Delivery, LoadedBatches, moved
from trainables.losses import EpochLoss
from trainables.parallel import joined_ranks
from trainables.precision import Precision
from trainables.settings import (
    LOADER_CONSTRAINTS,
    PROCESS_CONSTRAINTS,
    BatchKnobs,
    PrefetchKnobs,
    ProcessKnobs,
    cores_of_workers,
    demand_of,
    needs_cuda,
    prepare_process,
    streaming_needs_pinned_batches,
)


@knobs
class NodeEmbeddingConfig(ProcessKnobs, PrefetchKnobs, BatchKnobs):
    """Knobs of the node embeddings."""

    lr: float = learning(default=0.1, gt=0, doc="step size of both optimizers at a batch of 2,000")
    dims: int = both(default=64, ge=1, doc="width of an embedding")
    embedding: EmbeddingKind = both(
        default="sparse",
        doc="tables with SparseAdam, which updates the rows of a batch alone and lets the others "
        "rest; or with Adam, which reads and moves every row in every step",
    )
    placement: TablePlacement = systems(
        default="cpu", doc="where the tables and their optimizer are, whatever trains the rest"
    )
    walk_length: int = learning(default=10, ge=2, unit="nodes", doc="nodes of a random walk")
    walks_per_node: int = learning(default=3, ge=1, doc="walks that start from each node")
    walk_processes: int = systems(
        default=0,
        ge=0,
        doc="processes that draw the walks, once for each graph and seed; 0: one for each core; "
        "fewer where the limit on open files is low",
    )
    window: int = learning(
        default=1, ge=1, unit="nodes", doc="two nodes of a walk are a pair at most so far apart"
    )
    epoch_pairs: int = learning(
        default=200_000, ge=0, unit="pairs", doc="an epoch's, drawn from all; 0: all of them"
    )
    neighbours: int = both(default=10, ge=1, doc="sampled neighbours that a centre hears from")
    negatives: int = both(default=1, ge=1, doc="nodes of chance to tell each context from")
    batch_size: int = both(default=2000, ge=1, unit="pairs", doc="pairs a step, over all ranks")
    ranks: int = both(default=1, ge=1, doc="training processes that share each batch (DDP)")
    graph_scope: GraphScope = both(
        default="all", doc="a row for every node, or for the largest component's alone"
    )
    hold_out: bool = learning(
        default=True,
        doc="keep a twentieth of the edges for validation; False: train on them too, no val_auc",
    )
    pair_container: PairContainer = systems(
        default="ndarray",
        doc="what holds the pairs; workers that read a list of objects make copies of its pages",
    )


# -- training


def train(config: NodeEmbeddingConfig, run: Run) -> None:
    """Train for the run's budget, on every rank; reports after each epoch."""
    prepare_process(config, run)
    split = LinkSplit.of(run.data.path, config.graph_scope, hold_out=config.hold_out)
    batches = _batches(config, run, split)
    table_device = run.device if config.placement == "gpu" else torch.device("cpu")
    # Sparse gradients, and those in host memory, are added up by gloo alone.
    gloo = config.embedding == "sparse" or config.placement == "cpu"
    with joined_ranks(run, gloo=gloo) as ranks:
        tables = EmbeddingTables(split.num_nodes, config.dims, config.embedding).to(table_device)
        aggregation = Aggregation(config.dims).to(run.device)
        # Separately, since the two may be on different devices.
        fetched = replace(ranks, device=table_device).parallel(tables, "ddp")
        aggregated = ranks.parallel(aggregation, "ddp")
        optimizers = TwoOptimizers(tables, aggregation, config.scaled_lr())
        precision = Precision(config.amp, run.device)
        progress = Progress(
            network=nn.ModuleList([tables, aggregation]), optimizer=optimizers, precision=precision
        )
        progress.restore(run)
        prediction = LinkPrediction(tables=tables, aggregation=aggregation, split=split)
        delivery = Delivery(table_device, config.non_blocking, config.prefetch, run.copying)
        loss = EpochLoss(ranks, run, config.log_every)
        for epoch in run.epochs():
            arrivals = delivery.of(batches.epoch(epoch))
            for arriving in run.batches(arrivals, samples=_num_pairs):
                with run.phase(Phase.TRANSFER):
                    batch = arriving.on_device()
                with run.phase(Phase.FORWARD):
                    rows = fetched(batch)
                with run.phase(Phase.TRANSFER):
                    rows = moved(rows, run.device)
                with run.phase(Phase.FORWARD), precision.autocast():
                    summed = skip_gram_loss(aggregated(rows))
                with run.phase(Phase.BACKWARD):
                    precision.backward(ranks.loss(summed, batch.total))
                with run.phase(Phase.OPTIMIZER):
                    precision.step(optimizers.tables, optimizers.rest)
                    optimizers.zero_grad()
                loss.add(summed, len(batch.centres))
            figures = {"train_loss": loss.mean(epoch)}
            due = run.evaluates and (run.last_epoch or (epoch + 1) % config.eval_every == 0)
            if run.rank == 0 and due and (splits := _splits(config, run, split)):
                with run.evaluating():
                    figures |= {f"{name}_auc": prediction.auc(of) for name, of in splits.items()}
            run.report(**figures)
            progress.keep(run)


def _splits(config: NodeEmbeddingConfig, run: Run, split: LinkSplit) -> dict[str, HeldOut]:
    """The pairs of each split to report on."""
    splits = {"val": split.val} if config.hold_out else {}
    return splits | ({"test": split.test} if run.evaluate_test and run.last_epoch else {})


def _num_pairs(arriving: Arriving[PairBatch]) -> int:
    return arriving.batch.total


def _batches(config: NodeEmbeddingConfig, run: Run, split: LinkSplit) -> LoadedBatches[PairBatch]:
    """The batches of each epoch."""
    plan = WalkPlan(length=config.walk_length, per_node=config.walks_per_node, seed=run.seed)
    num_processes = config.walk_processes or run.num_cores
    walks = cached_walks(run.data.path, config.graph_scope, split, plan, num_processes)
    pairs = pairs_of(walks, config.window)
    share = math.ceil(config.batch_size / run.world_size)
    fetch = FetchPairs(
        pairs=held_in(config.pair_container, pairs),
        neighbours=UniformDraw(split.indptr, split.indices, replace=True),
        num_neighbours=config.neighbours,
        noise=Noise(np.diff(split.indptr)),
        num_negatives=config.negatives,
        seed=run.seed,
        slots=Slots.between(config, most_bytes(share, config.neighbours, config.negatives)),
    )
    order = EpochOrder(
        num_samples=min(config.epoch_pairs or len(pairs), len(pairs)),
        num_all=len(pairs),
        batch_size=config.batch_size,
        seed=run.seed,
        drop_last=config.drop_last,
        rank=run.rank,
        world_size=run.world_size,
    )
    return LoadedBatches(fetch, order, config, cores_of_workers(config, run))


node_embedding = Trainable(
    train,
    NodeEmbeddingConfig,
    data=[OGBN_PRODUCTS_EDGES, PRODUCTS_SYNTHETIC],
    reports=[maximize("val_auc")],
    constraints=[
        *PROCESS_CONSTRAINTS,
        *LOADER_CONSTRAINTS,
        streaming_needs_pinned_batches,
        needs_cuda("placement", "gpu"),
        requires(
            lambda config: config.amp == "off" or config.embedding == "dense",
            "amp does not go with embedding=sparse: rows, sparse gradients and SparseAdam are in "
            "float32 in any case, so that it would round scores without saving time or memory",
        ),
        requires(
            lambda config: config.amp != "fp16" or config.placement == "gpu",
            "amp=fp16 needs placement=gpu: the loss scale is on the GPU, and torch does not wait "
            "for its copy before it scales gradients in host memory",
        ),
        requires(
            lambda config: not config.pin_memory or config.placement == "gpu",
            "pin_memory=True needs placement=gpu: with the tables on the CPU batches stay there",
        ),
    ],
    demand=demand_of,
    preload=("torch", "torch._dynamo", "scipy.sparse.csgraph"),
    keeps_checkpoints=True,
    warm=True,
)

if __name__ == "__main__":
    from orchestrator.standalone import main

    main(node_embedding)
