"""GraphSAGE by sampled mini-batches against a plain DGL script with the same knobs.

    python -m benchmarks.trainables graphsage --scale 0.1

A rate is seed nodes over time in whole epochs, their starts included, the first epoch and
evaluation left out. The last row is message passing alone: the sum over all neighbours of the
whole graph, against DGL's kernel.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from benchmarks.harness import Comparison, Pairs, in_fresh_process, in_rounds, printed
from benchmarks.trainables.training import bind, compared, trained, tuned_environment
from orchestrator.arguments import Parser
from orchestrator.data import DataFolders
from orchestrator.trial import Budget
from trainables.data.sets.products_synthetic import PRODUCTS_SYNTHETIC

OURS, DGL = "ours", "dgl"
WORKERS: Final = 2
KINDS: Final = (OURS, DGL, f"{OURS}, workers", f"{DGL}, workers")
COMPARED: Final = ((OURS, DGL, 1.0), (f"{OURS}, workers", f"{DGL}, workers", 1.0))
"""Ours, its peer, and the least ratio with the same knobs."""
AT_BEST: Final = 1.3
"""Least ratio of our faster kind, the recommended one, to DGL's faster one."""
FANOUTS: Final = (25, 10)
HIDDEN: Final = 16


def main(arguments: Sequence[str] | None = None) -> int:
    """Run all kinds in turn and print the table; return 1 where a ratio is missed."""
    parser = Parser(prog="python -m benchmarks.trainables graphsage", description=__doc__)
    parser.add_argument("--scale", default="0.1", help="size as a share of ogbn-products'")
    parser.add_argument("--rounds", type=int, default=4, help="runs of each kind")
    parser.add_argument("--epochs", type=int, default=3, help="epochs to time")
    parser.add_argument("--batch-size", type=int, default=1000)
    options = parser.parse_args(arguments)
    data = str(PRODUCTS_SYNTHETIC.at(options.scale).prepare(DataFolders.default(Path("data"))).path)
    env = tuned_environment()

    def run(kind: str) -> float:
        given = (kind, data, options.batch_size, options.epochs)
        return float(in_fresh_process(rate, *given, env=env))

    rates = in_rounds(KINDS, run, rounds=options.rounds)
    sums = [in_fresh_process(message_rates, data, env=env) for _ in range(options.rounds)]
    rows = [*compared(rates, COMPARED, "nodes/s"), at_best(rates)]
    message = Pairs(ours=[ours for ours, _ in sums], peer=[peer for _, peer in sums])
    rows.append(Comparison(what="sums over all neighbours", unit="1/s", pairs=message))
    return printed(rows, "torch", "dgl")


def at_best(rates: dict[str, list[float]]) -> Comparison:
    """Return the row of the faster kind of each side."""

    def fastest(side: str) -> str:
        kinds = [kind for kind in rates if kind.startswith(side)]
        return max(kinds, key=lambda kind: statistics.median(rates[kind]))

    ours, peer = fastest(OURS), fastest(DGL)
    return Comparison(
        what=f"recommended: {ours}, to the faster of DGL's: {peer}",
        unit="nodes/s",
        pairs=Pairs(ours=rates[ours], peer=rates[peer]),
        at_least=AT_BEST,
    )


def rate(kind: str, data: str, batch_size: int, epochs: int) -> float:
    """Return the seed nodes a second of one kind."""
    from trainables.data.formats.graph_store import GraphStore

    num_workers = WORKERS if "workers" in kind else 0
    train = our_epochs if kind.startswith(OURS) else dgl_epochs
    durations_s = train(Path(data), batch_size, num_workers, 1 + epochs)[1:]
    return len(GraphStore.open(Path(data)).train) * len(durations_s) / sum(durations_s)


def our_epochs(data: Path, batch_size: int, num_workers: int, epochs: int) -> list[float]:
    """Train the trainable; return the seconds of each epoch."""
    from trainables.graphsage import SageConfig, graphsage

    config = SageConfig(
        num_workers=num_workers,
        persistent_workers=num_workers > 0,
        batch_size=batch_size,
        fanouts=FANOUTS,
        hidden=HIDDEN,
        eval_every=1000,
    )
    run = trained(graphsage, config, data, Budget(epochs=epochs))
    return [epoch.duration_s for epoch in run.recording().epochs]


def dgl_epochs(data: Path, batch_size: int, num_workers: int, epochs: int) -> list[float]:
    """Train as DGL's own example of sampled training does; return the seconds of each epoch."""
    import dgl
    import torch
    from torch.nn import functional

    from benchmarks.peers.sage_dgl import Sage
    from trainables.data.formats.graph_store import GraphStore

    bind()
    torch.manual_seed(0)
    store = GraphStore.open(data)
    tensors, graph = store.tensors(), store.dgl_graph()
    graph.ndata["features"] = tensors.features.clone()
    graph.ndata["labels"] = tensors.labels.clone()
    sampler = dgl.dataloading.NeighborSampler(
        list(FANOUTS), replace=True, prefetch_node_feats=["features"], prefetch_labels=["labels"]
    )
    loader = dgl.dataloading.DataLoader(
        graph,
        tensors.train,
        sampler,
        batch_size=batch_size,
        shuffle=True,
        drop_last=False,
        num_workers=num_workers,
        persistent_workers=num_workers > 0,
    )
    network = Sage([store.num_features, HIDDEN, store.num_classes], "mean", 0.5)
    optimizer = torch.optim.Adam(network.parameters(), lr=3e-3, fused=True)
    durations_s = []
    for _ in range(epochs):
        began = time.perf_counter()
        for _inputs, _outputs, blocks in loader:
            scores = network(blocks, blocks[0].srcdata["features"])
            loss = functional.cross_entropy(scores, blocks[-1].dstdata["labels"])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        durations_s.append(time.perf_counter() - began)
    return durations_s


def message_rates(data: str) -> tuple[float, float]:
    """Return how many sums over all neighbours are made a second, by ours and by DGL's kernel."""
    import dgl
    import torch

    from trainables.data.formats.graph_store import GraphStore
    from trainables.graph.adjacency import Adjacency
    from trainables.graph.messages import neighbour_sum

    bind()
    store = GraphStore.open(Path(data))
    tensors, graph = store.tensors(), store.dgl_graph()
    adjacency = Adjacency.symmetric(tensors.indptr, tensors.indices)
    x = torch.randn(store.num_nodes, HIDDEN)
    ours = _median_s(lambda: neighbour_sum(x, adjacency))
    peer = _median_s(lambda: dgl.ops.copy_u_sum(graph, x))
    return 1 / ours, 1 / peer


def _median_s(call: Callable[[], object], repeats: int = 7) -> float:
    durations_s = []
    for _ in range(repeats):
        began = time.perf_counter()
        call()
        durations_s.append(time.perf_counter() - began)
    return statistics.median(durations_s)
