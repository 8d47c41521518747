"""Knobs of GraphSAGE and of relational graph attention."""

from __future__ import annotations

from typing import Literal

from orchestrator import both, knobs, learning, systems
from trainables.compiling import CompileKnobs
from trainables.graph.components import GraphScope
from trainables.graph.messages import Aggregator
from trainables.graph.micro_batches import MicroBatchKnobs
from trainables.graph.on_device.relational_graph import RelationalKnobs
from trainables.graph.places.placement import PlacementKnobs
from trainables.hold_out import HoldOutKnobs
from trainables.settings import BatchKnobs, PrefetchKnobs, ProcessKnobs


@knobs
class SageConfig(
    ProcessKnobs,
    PrefetchKnobs,
    PlacementKnobs,
    MicroBatchKnobs,
    BatchKnobs,
    HoldOutKnobs,
    CompileKnobs,
):
    """Knobs of GraphSAGE."""

    lr: float = learning(default=3e-3, gt=0, doc="Adam's step size at a batch of 1,000")
    weight_decay: float = learning(default=0.0, ge=0, doc="L2 penalty, added to the gradient")
    dropout: float = both(default=0.5, ge=0, lt=1, doc="share of hidden values set to 0")
    aggregator: Aggregator = both(
        default="mean", doc="neighbours' mean; mean with the node itself; maximum of a projection"
    )
    hidden: int = both(default=64, ge=1, doc="width of the hidden layers")
    mode: Literal["sampled", "full"] = both(
        default="sampled", doc="mini-batches of sampled neighbours, or the whole graph each step"
    )
    layers: int = both(
        default=2,
        ge=1,
        doc="layers of full mode; sampled mode has one for each fan-out",
        applies=lambda config: not config.is_sampled(),
    )
    fanouts: tuple[int, ...] = both(
        default=(25, 10),
        ge=-1,
        doc="neighbours a node hears from, in DGL's order, input layer first: 25,10 draws 10 for "
        "each seed and 25 for each of these; -1: all",
        applies=lambda config: config.is_sampled(),
    )
    sampler: Literal["neighbour", "labor"] = both(
        default="neighbour",
        doc="each node draws for itself, or nodes share draws and fewer nodes are needed",
        applies=lambda config: config.is_sampled(),
    )
    replace: bool = both(
        default=True,
        doc="a neighbour may be drawn more than once",
        applies=lambda config: config.is_sampled() and config.sampler == "neighbour",
    )
    batch_size: int = both(
        default=1000,
        ge=1,
        unit="nodes",
        doc="seed nodes a step, over all ranks",
        applies=lambda config: config.is_sampled(),
    )
    drop_last: bool = both(
        default=False,
        doc="leave out an epoch's last, smaller batch",
        applies=lambda config: config.is_sampled(),
    )
    ranks: int = both(
        default=1, ge=1, doc="training processes that share each batch's seed nodes (DDP)"
    )
    graph_scope: GraphScope = both(
        default="all", doc="train on all training nodes, or on the largest component's"
    )

    def is_sampled(self) -> bool:
        """Return True if batches are sampled."""
        return self.mode == "sampled"

    def has_loader(self) -> bool:
        """Return True if batches come through a loader."""
        return self.is_sampled() and self.sampling == "cpu"

    @property
    def num_layers(self) -> int:
        """Layers of the network."""
        return len(self.fanouts) if self.is_sampled() else self.layers


@knobs
class RgatConfig(ProcessKnobs, RelationalKnobs, BatchKnobs, HoldOutKnobs, CompileKnobs):
    """Knobs of RGAT. Defaults are the study's, but for how its batches came to be.

    The study had 4 loader workers in training (``num_workers``) and 2 in validation, page-locked
    batches (``pin_memory``, which needs a GPU), and read its loss back in every step
    (``log_every=1``) for a progress bar. A machine of few cores and no GPU is better off without;
    the baseline of ``sweeps/mag240m_prefetch.py`` has the workers and the read-backs. Its graph
    has features: ``embedding_init`` has no effect there. An epoch of a set with at most
    ``batch_size`` training nodes is one step, and a note reports it: give it smaller batches.
    """

    lr: float = learning(default=1e-3, gt=0, doc="Adam's step size at a batch of 512")
    weight_decay: float = learning(default=0.0, ge=0, doc="L2 penalty, added to the gradient")
    embedding_init: Literal["xavier", "normal"] = learning(
        default="xavier",
        doc="first values of the learnable vectors of a graph without features: small and "
        "uniform, or N(0, 1)",
    )
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
    batch_size: int = both(default=512, ge=1, unit="nodes", doc="seed nodes a step, over all ranks")
    ranks: int = both(
        default=1,
        ge=1,
        doc="training processes that share each batch's seed nodes (DDP); batch norm takes the "
        "mean of a rank's share",
    )
    eval_fanouts: tuple[int, ...] = learning(
        default=(15, 25),
        ge=-1,
        doc="likewise, in validation, which the best model is chosen by; as many layers",
    )
    eval_every: int = learning(
        default=1,
        ge=1,
        unit="epochs",
        doc="evaluate every so many epochs, and after the last: the best model is one of these",
    )
    eval_batch_size: int = systems(default=512, ge=1, unit="nodes", doc="likewise, in validation")
    test_fanouts: tuple[int, ...] = learning(
        default=(160, 160), ge=-1, doc="likewise, when the best model is tested; as many layers"
    )
    test_batch_size: int = systems(
        default=16, ge=1, unit="nodes", doc="likewise, when the best model is tested"
    )
    submission: str = systems(
        default="",
        doc="folder for the best model's test predictions on MAG240M, written with --test",
    )
