"""GraphSAGE on a products graph: sampled mini-batches, or the whole graph as one batch.

    python -m trainables.graphsage --data ogbn-products --num-workers 3 --epochs 1

Hamilton, Ying and Leskovec, "Inductive representation learning on large graphs", 2017.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import pairwise
from typing import cast

import torch
from torch import Tensor, nn
from torch.nn import functional

from orchestrator import Machine, Phase, Run, Trainable, requires
from trainables.checkpoints import Progress
from trainables.classification import OBJECTIVES
from trainables.compiling import COMPILE_CONSTRAINTS, compiled
from trainables.data.formats.graph_store import GraphStore
from trainables.data.sets.ogbn_products import OGBN_PRODUCTS
from trainables.data.sets.products_synthetic import PRODUCTS_SYNTHETIC
from trainables.graph.adjacency import Adjacency
from trainables.graph.components import training_nodes
from trainables.graph.drawing import Draw, Ids, LaborDraw, UniformDraw
from trainables.graph.evaluation import Evaluation
from trainables.graph.layers import SageLayer, relu_dropout
from trainables.graph.micro_batches import FetchParts
from trainables.graph.minibatch import (
    FetchMinibatch,
    InputTable,
    Minibatch,
    Rows,
    Summed,
    most_bytes,
)
from trainables.graph.on_device.batches import DeviceSampler, SampleMinibatch
from trainables.graph.places.features import FeatureTable
from trainables.graph.places.placement import PLACEMENT_CONSTRAINTS
from trainables.graph.randomness import key_of
from trainables.graph.sampling import NeighbourSampler, relabelling
from trainables.graph.slots import Slots
from trainables.graph.whole import WholeGraph
from trainables.graph_knobs import SageConfig
from trainables.hold_out import trained_on
from trainables.loading import (
    Arriving,
    Batches,
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
    cores_of_workers,
    demand_of,
    prepare_process,
    streaming_needs_pinned_batches,
)

__all__ = ["GraphSage", "SageConfig", "graphsage"]

# -- network


class GraphSage(nn.Module):
    """A stack of layers with relu and dropout between them."""

    def __init__(self, config: SageConfig, num_features: int, num_classes: int) -> None:
        super().__init__()
        widths = [num_features, *[config.hidden] * (config.num_layers - 1), num_classes]
        self.layers = nn.ModuleList(
            SageLayer(before, after, config.aggregator) for before, after in pairwise(widths)
        )
        self.dropout = config.dropout

    def stack(self) -> list[SageLayer]:
        """The layers, from input to output."""
        return cast("list[SageLayer]", list(self.layers))

    def forward(self, inputs: Summed | Rows, blocks: tuple[Adjacency, ...]) -> Tensor:
        """Scores of the last layer's targets, ``(num_targets, classes)``."""
        first, *rest = self.stack()
        h: Tensor = first(inputs)
        for layer, block in zip(rest, blocks, strict=True):
            h = layer(Rows(relu_dropout(h, self.dropout, training=self.training), block))
        return h


# -- training


def train(config: SageConfig, run: Run) -> None:
    """Train for the run's budget, on every rank; reports after each epoch."""
    prepare_process(config, run)
    store = trained_on(GraphStore.open(run.data.path), config)
    with joined_ranks(run) as ranks:
        table, batches = _batches(config, run, store)
        network = GraphSage(config, store.num_features, store.num_classes).to(run.device)
        # Evaluation and checkpoints use the network itself, the steps what is wrapped around it.
        is_one_shape = config.mode == "full"
        trained = ranks.parallel(
            compiled(network, config.compile, is_one_shape=is_one_shape), "ddp"
        )
        optimizer = torch.optim.Adam(
            network.parameters(), config.scaled_lr(), weight_decay=config.weight_decay, fused=True
        )
        precision = Precision(config.amp, run.device)
        progress = Progress(network=network, optimizer=optimizer, precision=precision)
        progress.restore(run)
        evaluation = _evaluation(config, run, store, table)
        delivery = Delivery(run.device, config.non_blocking, config.prefetch, run.copying)
        loss = EpochLoss(ranks, run, config.log_every)
        for epoch in run.epochs():
            torch.manual_seed(key_of(run.seed, epoch, run.rank))  # what dropout draws from
            arrivals = delivery.of(batches.epoch(epoch))
            for arriving in run.batches(arrivals, samples=_num_seeds):
                with run.phase(Phase.TRANSFER):
                    parts = arriving.on_device()
                for part in parts:
                    ranks.exchange_gradients(trained, part is parts[-1])
                    with run.phase(table.features.phase), precision.autocast():
                        inputs = table.looked_up(part.inputs)
                    with run.phase(Phase.FORWARD), precision.autocast():
                        scores = trained(inputs, part.blocks)
                        scores = scores if part.seeds is None else scores[part.seeds]
                        summed = functional.cross_entropy(scores, part.labels, reduction="sum")
                    with run.phase(Phase.BACKWARD):
                        precision.backward(ranks.loss(summed, part.total))
                    loss.add_part(summed, len(part.labels))
                with run.phase(Phase.OPTIMIZER):
                    precision.step(optimizer)
                    optimizer.zero_grad()
                loss.end_step()
            figures = {"train_loss": loss.mean(epoch)}
            if config.mode == "full":
                epoch_s = run.recording().epochs[-1].duration_s
                figures["kteps"] = store.num_edges / epoch_s / 1000
            due = run.evaluates and (run.last_epoch or (epoch + 1) % config.eval_every == 0)
            if run.rank == 0 and due and (splits := _splits(run, store)):
                with run.evaluating():
                    figures |= evaluation.figures(network, splits)
            if epoch == 0:
                figures |= _of_first_epoch(figures)
            run.report(**figures)
            progress.keep(run)


def _num_seeds(arriving: Arriving[tuple[Minibatch, ...]]) -> int:
    return arriving.batch[0].total


def _batches(
    config: SageConfig, run: Run, store: GraphStore
) -> tuple[InputTable, Batches[tuple[Minibatch, ...]]]:
    """The feature table and the micro-batches of each step."""
    seeds = training_nodes(store, config.graph_scope)
    if config.mode == "full":
        whole = WholeGraph.of(store, seeds, num_layers=config.layers, device=run.device)
        features = FeatureTable(features=whole.features)
        return InputTable(features=features, aggregator=config.aggregator), whole
    features = FeatureTable.of(store.tensors().features, store.indptr, config, run.device)
    table = InputTable(features=features, aggregator=config.aggregator)
    order = BatchOrder(
        num_samples=len(seeds),
        batch_size=config.batch_size,
        seed=run.seed,
        drop_last=config.drop_last,
        rank=run.rank,
        world_size=run.world_size,
    )
    share = math.ceil(config.batch_size / run.world_size / config.accumulate)
    most = config.accumulate * most_bytes(share, config.fanouts, table)
    parts = FetchParts(
        fetch=_fetch(config, run, store, seeds, table),
        count=config.accumulate,
        slots=Slots.between(config, most),
    )
    return table, LoadedBatches(parts, order, config, cores_of_workers(config, run))


def _fetch(
    config: SageConfig, run: Run, store: GraphStore, seeds: Ids, table: InputTable
) -> FetchMinibatch | SampleMinibatch:
    """The maker of mini-batches, in the loader or where training is."""
    if config.sampling != "cpu":
        sampler = DeviceSampler.of(
            store, seeds, config.fanouts, config.replace, config.sampling, run.device
        )
        return SampleMinibatch(sampler=sampler, seed=run.seed, table=table)
    relabel = relabelling(store.num_nodes)
    return FetchMinibatch(
        sampler=NeighbourSampler(_draw(config, store), config.fanouts, relabel),
        seeds=seeds,
        labels=store.tensors().labels,
        seed=run.seed,
        table=table,
    )


def _splits(run: Run, store: GraphStore) -> dict[str, Tensor]:
    """The nodes of each split to report on; ``all`` has those of the three together."""
    graph = store.tensors()
    splits = {"val": graph.val} if len(graph.val) else {}
    if run.evaluate_test and run.last_epoch:
        labelled = torch.cat([graph.train, graph.val, graph.test])
        splits |= {"test": graph.test, "all": labelled}
    return splits


def _of_first_epoch(figures: Mapping[str, float]) -> dict[str, float]:
    """Return its loss, and its accuracy if it was evaluated, by names that later ones lack."""
    kept = {"train_loss": "first_epoch_loss", "val_acc": "first_epoch_val_acc"}
    return {name: figures[ours] for ours, name in kept.items() if ours in figures}


def _draw(config: SageConfig, store: GraphStore) -> Draw:
    if config.sampler == "labor":
        return LaborDraw(store.dgl_graph())
    return UniformDraw(store.indptr, store.indices, config.replace)


def _evaluation(config: SageConfig, run: Run, store: GraphStore, table: InputTable) -> Evaluation:
    """Return the evaluation on the features' device; features that a GPU reads lie on the host."""
    graph = store.tensors()
    on_device = config.mode == "full" or config.feature_placement == "device"
    return Evaluation(
        features=table.features.features if on_device else graph.features,
        adjacency=Adjacency.symmetric(graph.indptr, graph.indices),
        labels=graph.labels,
        num_cores=run.num_cores,
    )


# -- what it asks of a machine


def _one_rank_in_full_mode(config: SageConfig, _machine: Machine) -> str | None:
    if config.mode == "full" and config.ranks > 1:
        return f"mode=full has one batch, the whole graph: ranks={config.ranks} cannot share it"
    return None


graphsage = Trainable(
    train,
    SageConfig,
    data=[OGBN_PRODUCTS, PRODUCTS_SYNTHETIC],
    reports=OBJECTIVES,
    constraints=[
        *PROCESS_CONSTRAINTS,
        *LOADER_CONSTRAINTS,
        streaming_needs_pinned_batches,
        _one_rank_in_full_mode,
        *PLACEMENT_CONSTRAINTS,
        *COMPILE_CONSTRAINTS,
        requires(
            lambda config: config.sampler != "labor" or config.sampling == "cpu",
            "sampler=labor needs sampling=cpu: it is DGL's, whose wheels have no GPU",
        ),
    ],
    demand=demand_of,
    preload=("torch", "torch._dynamo", "dgl"),
    keeps_checkpoints=True,
    warm=True,
)

if __name__ == "__main__":
    from orchestrator.standalone import main

    main(graphsage)
