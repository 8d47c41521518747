"""A step of RGAT against the study's own way: a subgraph for each relation in each layer.

    python -m benchmarks.trainables rgat --hidden 1024 --batch-size 512

Both sides get the same batches and the same optimizer, fused, and begin with the same weights. A
rate is seed nodes over the time of whole steps: forward, backward and optimizer, the batch being
there. Making batches is timed separately: our sampler against DGL's, features gathered by both.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from benchmarks.harness import Comparison, Pairs, in_fresh_process, in_rounds, printed
from benchmarks.trainables.training import bind, tuned_environment
from orchestrator.arguments import Parser
from orchestrator.data import DataFolders
from trainables.data.sets.mag_synthetic import MAG_SYNTHETIC

if TYPE_CHECKING:
    from trainables.data.formats.relational_store import RelationalStore
    from trainables.graph.relational_batches import RelationalBatch
    from trainables.rgat import RgatConfig

KINDS: Final = ("ours", "dgl")
TO_REACH: Final = 1.3
"""Least ratio of our rate of steps to the study's."""
FANOUTS: Final = (15, 25)
HEADS: Final = 4
STEPS: Final = 3
"""Timed steps, after a first one."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run both kinds in turn and print the table; return 1 where the ratio is missed."""
    parser = Parser(prog="python -m benchmarks.trainables rgat", description=__doc__)
    parser.add_argument("--scale", default="1e-4", help="size as a share of MAG240M's")
    parser.add_argument("--rounds", type=int, default=5, help="runs of each kind")
    parser.add_argument("--batch-size", type=int, default=512)
    parser.add_argument("--hidden", type=int, default=1024)
    options = parser.parse_args(arguments)
    data = MAG_SYNTHETIC.at(options.scale).prepare(DataFolders.default(Path("data")))

    def run(kind: str) -> dict[str, float]:
        given = (kind, str(data.path), options.batch_size, options.hidden)
        figures: dict[str, float] = in_fresh_process(rates, *given, env=tuned_environment())
        return figures

    return printed(comparisons(in_rounds(KINDS, run, rounds=options.rounds)), "torch", "dgl")


def comparisons(found: dict[str, list[dict[str, float]]]) -> list[Comparison]:
    """Return the rows of the table."""

    def pairs(figure: str) -> Pairs:
        ours, peer = ([run[figure] for run in found[kind]] for kind in KINDS)
        return Pairs(ours=ours, peer=peer)

    step = "step: forward, backward, optimizer"
    return [
        Comparison(what=step, unit="nodes/s", pairs=pairs("step"), at_least=TO_REACH),
        Comparison(what="making batches, in one process", unit="nodes/s", pairs=pairs("batch")),
    ]


def rates(kind: str, data: str, batch_size: int, hidden: int) -> dict[str, float]:
    """Return the seed nodes a second of one kind, in steps and in making batches."""
    from trainables.data.formats.relational_store import RelationalStore
    from trainables.rgat import RgatConfig

    bind()
    store = RelationalStore.open(Path(data))
    config = RgatConfig(
        batch_size=batch_size,
        hidden=hidden,
        heads=HEADS,
        fanouts=FANOUTS,
        eval_fanouts=FANOUTS,
        test_fanouts=FANOUTS,
        dropout=0.5,
    )
    batch, step = (our_batches, our_step) if kind == "ours" else (dgl_batches, dgl_step)
    batch_s = median_s(batch(config, store), 2 + STEPS)
    step_s = median_s(step(config, store), 1 + STEPS)
    return {"step": batch_size / step_s, "batch": batch_size / batch_s}


def median_s(run: Callable[[int], object], times: int) -> float:
    """Return the median of the seconds of a run; the first one is left out."""
    durations_s = []
    for index in range(times):
        began = time.perf_counter()
        run(index)
        durations_s.append(time.perf_counter() - began)
    return statistics.median(durations_s[1:])


def _networks(config: RgatConfig, store: RelationalStore) -> tuple[Any, Any]:
    """Ours, and the study's with the same weights."""
    import torch

    from benchmarks.peers.rgat_dgl import DglRgat, take_weights
    from trainables.rgat import Rgat

    torch.manual_seed(0)
    ours = Rgat(config, store)
    theirs = DglRgat(
        store.num_features,
        store.num_classes,
        hidden=config.hidden,
        heads=config.heads,
        num_layers=len(config.fanouts),
        num_relations=store.num_relations,
        dropout=config.dropout,
    )
    take_weights(theirs, ours)
    return ours, theirs


def _two_batches(config: RgatConfig, store: RelationalStore) -> list[RelationalBatch]:
    """Return the same batches in every process."""
    fetch = our_batches(config, store)
    return [fetch(index) for index in range(2)]


def our_batches(config: RgatConfig, store: RelationalStore) -> Callable[[int], RelationalBatch]:
    """Return a function that makes a batch by our sampler."""
    from trainables.graph.relational_batches import neighbourhoods
    from trainables.loading import BatchOrder

    order = BatchOrder(num_samples=len(store.train), batch_size=config.batch_size, seed=0)
    fetch = neighbourhoods(
        store,
        store.train,
        fanouts=config.fanouts,
        keys=(0,),
        each_step=True,
        mapped_bytes=2**40,
        features=store.tensors().features,
    )
    return lambda index: fetch(next(order.epoch(index)))


def dgl_batches(config: RgatConfig, store: RelationalStore) -> Callable[[int], object]:
    """Return a function that makes a batch as the example does: features outside the graph."""
    import dgl

    from trainables.loading import BatchOrder

    graph, tensors = store.dgl_graph(), store.tensors()
    assert tensors.features is not None, "the generated set has features"
    features = tensors.features
    sampler = dgl.dataloading.NeighborSampler(list(config.fanouts))
    order = BatchOrder(num_samples=len(store.train), batch_size=config.batch_size, seed=0)

    def sample(index: int) -> object:
        seeds = tensors.train[next(order.epoch(index)).indices]
        nodes, _, blocks = sampler.sample_blocks(graph, seeds)
        for block in blocks:
            block.edata["etype"] = tensors.edge_type[block.edata[dgl.EID]]
        return blocks, features[nodes]

    return sample


def our_step(config: RgatConfig, store: RelationalStore) -> Callable[[int], None]:
    """Return a function that takes one step of ours."""
    network, _ = _networks(config, store)
    given = [(batch.inputs, batch.blocks, batch.labels) for batch in _two_batches(config, store)]
    return _step(network, given)


def dgl_step(config: RgatConfig, store: RelationalStore) -> Callable[[int], None]:
    """Return a function that takes one step of the study's."""
    from benchmarks.peers.rgat_dgl import dgl_blocks

    _, network = _networks(config, store)
    given = [
        (dgl_blocks(batch.blocks, len(batch.inputs)), batch.inputs.float(), batch.labels)
        for batch in _two_batches(config, store)
    ]
    return _step(network, given)


def _step(network: Any, batches: Sequence[tuple[Any, Any, Any]]) -> Callable[[int], None]:  # noqa: ANN401
    import torch
    from torch.nn import functional

    optimizer = torch.optim.Adam(network.parameters(), 1e-3, fused=True)

    def step(index: int) -> None:
        first, second, labels = batches[index % len(batches)]
        functional.cross_entropy(network(first, second), labels).backward()
        optimizer.step()
        optimizer.zero_grad()

    return step
