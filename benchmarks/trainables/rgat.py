"""A step of RGAT beside the study's own way: a subgraph for each relation in each layer.

    python -m benchmarks.trainables.rgat --hidden 1024 --batch-size 512

Each run is a fresh process with the same cores, threads and allocator; the two kinds take turns.
Both get the same batches and the same optimizer, fused, and begin with the same weights. A rate is
seed nodes over the time of whole steps: forward, backward and optimizer, the batch being there.
Making batches is timed apart: our sampler beside DGL's, features gathered by both. Also: how far
the results of one step lie apart. Prints markdown.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.harness import HEADER, Pairs, environment_lines
from orchestrator.arguments import Parser
from orchestrator.data import DataFolders, PreparedData
from orchestrator.system.allocators import allocator_environment
from trainables.data.sets.mag_synthetic import MAG_SYNTHETIC

if TYPE_CHECKING:
    import torch

    from benchmarks.peers.rgat_dgl import DglRgat
    from trainables.data.formats.relational_store import RelationalStore
    from trainables.graph.relational_batches import RelationalBatch
    from trainables.rgat import Rgat, RgatConfig

Figures = dict[str, float]
"""What a process printed, by name."""

KINDS = ("ours", "dgl")
TO_REACH = 1.3
"""Our rate of steps over the study's."""
FIGURES = {
    "step": f"step: forward, backward, optimizer (to reach: {TO_REACH:g})",
    "batch": "making batches, in one process",
}
TOLERANCE = 1e-4
"""How far results may lie apart, relative to the largest of their kind."""


@dataclass(frozen=True, kw_only=True)
class Work:
    """Task of one process, with its config."""

    kind: str
    data: str
    batch_size: int
    hidden: int
    heads: int
    fanouts: tuple[int, ...]
    dropout: float
    steps: int
    cores: tuple[int, ...]

    def in_fresh_process(self, allocator: str) -> Figures:
        """Return what the process printed: rates, or differences."""
        environment = {**os.environ, "DGLBACKEND": "pytorch"}
        command = ["-W", "ignore", "-m", __spec__.name, "--work", json.dumps(asdict(self))]
        done = subprocess.run(
            [sys.executable, *command],
            env=allocator_environment(allocator, environment),
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise RuntimeError(f"{self} failed:\n{done.stderr[-3000:]}")
        figures: Figures = json.loads(done.stdout.splitlines()[-1])
        return figures


def main(arguments: Sequence[str] | None = None) -> int:
    """Run everything in turn and print the tables; return 1 where a target is missed."""
    parser = Parser(description=__doc__, formatter_class=_Plain)
    parser.add_argument("--scale", default="1e-4", help="size as a share of MAG240M's")
    parser.add_argument("--rounds", type=int, default=5, help="runs of each kind")
    parser.add_argument("--steps", type=int, default=3, help="steps to time, after a first one")
    parser.add_argument("--batch-size", type=int, default=512)
    parser.add_argument("--hidden", type=int, default=1024)
    parser.add_argument("--heads", type=int, default=4)
    parser.add_argument("--fanouts", default="15,25")
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--allocator", default="tuned", choices=("default", "tuned", "jemalloc"))
    parser.add_argument("--work", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.work is not None:
        given = json.loads(options.work)
        lists = {name: tuple(given[name]) for name in ("cores", "fanouts")}
        print(json.dumps(_figures(Work(**{**given, **lists}))))
        return 0
    data = MAG_SYNTHETIC.at(options.scale).prepare(DataFolders.default(Path("data")))
    runs = _runs(data, options)
    differences = _in_fresh_process("compare", data, options, dropout=0.0)
    print("\n".join(_report(data, options, runs, differences)))
    is_fast = statistics.median(_pairs(runs, "step").ratios) >= TO_REACH
    is_equal = all(difference <= TOLERANCE for difference in differences.values())
    return 0 if is_fast and is_equal else 1


class _Plain(argparse.ArgumentDefaultsHelpFormatter, argparse.RawDescriptionHelpFormatter):
    pass


def _in_fresh_process(
    kind: str, data: PreparedData, options: argparse.Namespace, *, dropout: float
) -> Figures:
    work = Work(
        kind=kind,
        data=str(data.path),
        batch_size=options.batch_size,
        hidden=options.hidden,
        heads=options.heads,
        fanouts=tuple(int(fanout) for fanout in options.fanouts.split(",")),
        dropout=dropout,
        steps=options.steps,
        cores=tuple(sorted(os.sched_getaffinity(0)))[: options.cores],
    )
    return work.in_fresh_process(options.allocator)


def _runs(data: PreparedData, options: argparse.Namespace) -> dict[str, list[Figures]]:
    found: dict[str, list[Figures]] = {kind: [] for kind in KINDS}
    for index in range(options.rounds):
        for kind in random.Random(index).sample(KINDS, len(KINDS)):
            found[kind].append(_in_fresh_process(kind, data, options, dropout=0.5))
            print(f"round {index}, {kind}: {found[kind][-1]} nodes/s", file=sys.stderr)
    return found


def _pairs(runs: Mapping[str, Sequence[Figures]], figure: str) -> Pairs:
    ours, peer = ([run[figure] for run in runs[kind]] for kind in KINDS)
    return Pairs(ours=ours, peer=peer)


def _report(
    data: PreparedData,
    options: argparse.Namespace,
    runs: Mapping[str, Sequence[Figures]],
    differences: Figures,
) -> Iterator[str]:
    yield f"# RGAT on {data.name}, beside a subgraph for each relation in each layer\n"
    yield from environment_lines("torch", "dgl")
    yield (
        f"- batch {options.batch_size}, fan-out {options.fanouts}, hidden {options.hidden}, "
        f"{options.heads} heads, dropout 0.5, float32, {options.cores} cores, "
        f"allocator {options.allocator}\n"
    )
    yield HEADER
    for figure, what in FIGURES.items():
        yield _pairs(runs, figure).row(what, "nodes/s")
    yield "\n## Results of one step, without dropout\n"
    yield "| what | difference, as a share of the largest value | allowed |\n| --- | --- | --- |"
    for what, difference in differences.items():
        yield f"| {what} | {difference:.1e} | {TOLERANCE:.0e} |"


# -- what a fresh process does


def _figures(work: Work) -> Figures:
    import torch

    from trainables.data.formats.relational_store import RelationalStore

    os.sched_setaffinity(0, work.cores)
    torch.set_num_threads(len(work.cores))
    store = RelationalStore.open(Path(work.data))
    if work.kind == "compare":
        return _differences(work, store)
    make = _our_batches if work.kind == "ours" else _dgl_batches
    batch_s = _median_s(make(work, store), 2 + work.steps)
    train = _our_step if work.kind == "ours" else _dgl_step
    step_s = _median_s(train(work, store), 1 + work.steps)
    return {"step": work.batch_size / step_s, "batch": work.batch_size / batch_s}


def _median_s(run: Callable[[int], object], times: int) -> float:
    """Seconds of a run in the median; the first one is left out."""
    durations_s = []
    for index in range(times):
        began = time.perf_counter()
        run(index)
        durations_s.append(time.perf_counter() - began)
    return statistics.median(durations_s[1:])


def _networks(work: Work, store: RelationalStore) -> tuple[Rgat, DglRgat]:
    """Ours, and the study's with the same weights."""
    import torch

    from benchmarks.peers.rgat_dgl import DglRgat, take_weights
    from trainables.rgat import Rgat

    torch.manual_seed(0)
    ours = Rgat(_config(work), store)
    theirs = DglRgat(
        store.num_features,
        store.num_classes,
        hidden=work.hidden,
        heads=work.heads,
        num_layers=len(work.fanouts),
        num_relations=store.num_relations,
        dropout=work.dropout,
    )
    take_weights(theirs, ours)
    return ours, theirs


def _config(work: Work) -> RgatConfig:
    from trainables.rgat import RgatConfig

    return RgatConfig(
        batch_size=work.batch_size,
        hidden=work.hidden,
        heads=work.heads,
        fanouts=work.fanouts,
        eval_fanouts=work.fanouts,
        test_fanouts=work.fanouts,
        dropout=work.dropout,
    )


def _batches(work: Work, store: RelationalStore) -> Sequence[RelationalBatch]:
    """The same ones in every process."""
    fetch = _our_batches(work, store)
    return [fetch(index) for index in range(2)]


def _our_batches(work: Work, store: RelationalStore) -> Callable[[int], RelationalBatch]:
    from trainables.graph.relational_batches import neighbourhoods
    from trainables.loading import BatchOrder

    order = BatchOrder(num_samples=len(store.train), batch_size=work.batch_size, seed=0)
    fetch = neighbourhoods(
        store,
        store.train,
        fanouts=work.fanouts,
        keys=(0,),
        each_step=True,
        mapped_bytes=2**40,
    )
    return lambda index: fetch(next(order.epoch(index)))


def _dgl_batches(work: Work, store: RelationalStore) -> Callable[[int], Any]:
    """Yield batches as the example does: sampled by DGL, features gathered outside the graph."""
    import dgl

    graph, tensors = store.dgl_graph(), store.tensors()
    assert tensors.features is not None, "the generated set has features"
    features = tensors.features
    sampler = dgl.dataloading.NeighborSampler(list(work.fanouts))

    def sample(index: int) -> tuple[list[Any], torch.Tensor]:
        from trainables.loading import BatchOrder

        order = BatchOrder(num_samples=len(store.train), batch_size=work.batch_size, seed=0)
        seeds = tensors.train[next(order.epoch(index)).indices]
        nodes, _, blocks = sampler.sample_blocks(graph, seeds)
        for block in blocks:
            block.edata["etype"] = tensors.edge_type[block.edata[dgl.EID]]
        return blocks, features[nodes]

    return sample


def _our_step(work: Work, store: RelationalStore) -> Callable[[int], None]:
    import torch
    from torch.nn import functional

    network, _ = _networks(work, store)
    optimizer = torch.optim.Adam(network.parameters(), 1e-3, fused=True)
    batches = _batches(work, store)

    def step(index: int) -> None:
        batch = batches[index % len(batches)]
        scores = network(batch.inputs, batch.blocks)
        functional.cross_entropy(scores, batch.labels).backward()
        optimizer.step()
        optimizer.zero_grad()

    return step


def _dgl_step(work: Work, store: RelationalStore) -> Callable[[int], None]:
    import torch
    from torch.nn import functional

    from benchmarks.peers.rgat_dgl import dgl_blocks

    _, network = _networks(work, store)
    optimizer = torch.optim.Adam(network.parameters(), 1e-3, fused=True)
    batches = [
        (dgl_blocks(batch.blocks, len(batch.inputs)), batch.inputs, batch.labels)
        for batch in _batches(work, store)
    ]

    def step(index: int) -> None:
        blocks, inputs, labels = batches[index % len(batches)]
        scores = network(blocks, inputs.float())
        functional.cross_entropy(scores, labels).backward()
        optimizer.step()
        optimizer.zero_grad()

    return step


def _differences(work: Work, store: RelationalStore) -> Figures:
    from benchmarks.peers.rgat_dgl import differences

    return differences(*_networks(work, store), _batches(work, store)[0])


if __name__ == "__main__":
    sys.exit(main())
