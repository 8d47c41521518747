"""RGAT on small graphs without features, beside a plain R-GCN and a vote of neighbours.

    python -m benchmarks.trainables embeddings --data-root ../shared/data

Test accuracy by the first values of learnable vectors and by weight decay, on AIFB and on two
generated graphs. Every model is the best of its run by validation accuracy. The vote gives a node
the commonest class of the training nodes beside it, or else of those two steps away. Prints
Markdown; the exit code is 1 where the default's mean is below N(0, 1)'s, or where RGAT with the
weight decay of the best validation accuracy is more than 2 points below such an R-GCN.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from benchmarks.side_by_side import environment_lines
from benchmarks.trainables.relational_graphs import citations, molecules
from orchestrator.arguments import Parser
from orchestrator.data import DataFolders, PreparedData
from trainables.data.sets.ogb_hetero import OgbHetero

if TYPE_CHECKING:
    from orchestrator.trial import Report
    from trainables.data.formats.relational_store import RelationalStore

Accuracies = tuple[float, float]
"""On the validation nodes and on the test nodes."""
Measure = Callable[["RelationalStore", PreparedData, int], Accuracies]
"""Accuracies of a way on a set, by the seed."""

ALLOWED_BELOW_RGCN: Final = 0.02
SMALL: Final[Mapping[str, Any]] = {
    "hidden": 64,
    "lr": 0.02,
    "dropout": 0.2,
    "batch_size": 28,
    "fanouts": (10, 20),
    "eval_fanouts": (-1, -1),
    "test_fanouts": (-1, -1),
    "test_batch_size": 512,
    "eval_every": 2,
}
"""The settings for small graphs in docs/trainables.md, but for weight decay."""
EPOCHS: Final = 20


@dataclass
class _Channel:
    """The reports of a run."""

    kept: list[Report] = field(default_factory=list)

    def report(self, report: Report) -> bool:
        """Keep it; go on."""
        self.kept.append(report)
        return False


def rgat_accuracy(**knobs: object) -> Measure:
    """Return the measure of RGAT with the settings for small graphs and ``knobs``."""

    def measured(_store: RelationalStore, data: PreparedData, seed: int) -> Accuracies:
        from orchestrator.measurement.run import Context, Run
        from orchestrator.trial import Budget
        from trainables.rgat import RgatConfig, rgat

        where = Context(
            seed=seed, budget=Budget(epochs=EPOCHS), data=data, evaluate_test=True, num_cores=1
        )
        channel = _Channel()
        values: dict[str, Any] = {**SMALL, **knobs}
        rgat.train(RgatConfig(threads=1, **values), Run(where, channel))
        metrics = channel.kept[-1].metrics
        return metrics["val_acc"], metrics["test_acc"]

    return measured


def rgcn_accuracy(**settings: Any) -> Measure:  # noqa: ANN401 - of RgcnSettings
    """Return the measure of a plain R-GCN; its settings are DGL's for AIFB unless said."""

    def measured(store: RelationalStore, _data: PreparedData, seed: int) -> Accuracies:
        from benchmarks.peers.rgcn import RgcnSettings, accuracies_of_best

        return accuracies_of_best(RgcnSettings(**settings), store, seed)

    return measured


def vote(store: RelationalStore, *_: object) -> Accuracies:
    """Accuracies of the commonest class among the training nodes beside a node."""
    from scipy.sparse import csr_array

    shape = (store.num_nodes, store.num_nodes)
    beside = csr_array((np.ones(store.num_edges), store.indices, store.indptr), shape=shape)
    known = np.zeros((store.num_nodes, store.num_classes))
    known[store.train, store.labels[store.train]] = 1
    once = beside @ known
    twice = beside @ once
    votes = np.where(once.any(1, keepdims=True), once, twice)
    votes = np.where(votes.any(1, keepdims=True), votes, known.sum(0))
    right = votes.argmax(1) == store.labels
    return float(right[store.val].mean()), float(right[store.test].mean())


def majority(store: RelationalStore, *_: object) -> Accuracies:
    """Shares of the nodes that are of the commonest class in training."""
    right = store.labels == np.bincount(store.labels[store.train]).argmax()
    return float(right[store.val].mean()), float(right[store.test].mean())


NORMAL: Final = "RGAT, N(0, 1)"
XAVIER: Final = "RGAT, Xavier (default)"
RGCN: Final = "plain R-GCN"
WAYS: Final[Mapping[str, Measure]] = {
    NORMAL: rgat_accuracy(embedding_init="normal"),
    f"{NORMAL}, weight decay 5e-4": rgat_accuracy(embedding_init="normal", weight_decay=5e-4),
    XAVIER: rgat_accuracy(),
    f"{XAVIER}, weight decay 5e-4": rgat_accuracy(weight_decay=5e-4),
    f"{XAVIER}, weight decay 5e-3": rgat_accuracy(weight_decay=5e-3),
    RGCN: rgcn_accuracy(weight_decay=0.0),
    f"{RGCN}, weight decay 5e-4": rgcn_accuracy(),
    f"{RGCN}, weight decay 5e-4, hidden 64, 100 epochs": rgcn_accuracy(hidden=64, epochs=100),
}
FIXED: Final[Mapping[str, Measure]] = {"vote of neighbours": vote, "majority's share": majority}
"""Ways without a seed."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure every way on every set and print the table; return 1 where a target is missed."""
    parser = Parser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data-root", type=Path, help="where real sets are")
    parser.add_argument("--seeds", type=int, default=5, help="runs of each way")
    parser.add_argument(
        "--only", choices=WAYS, metavar="WAY", help=f"one row of the table: {'; '.join(WAYS)}"
    )
    options = parser.parse_args(arguments)
    os.environ.setdefault("DGLBACKEND", "pytorch")
    given = options.data_root or os.environ.get("SWEEP_TEST_DATA", "../shared/data")
    began = time.monotonic()
    with TemporaryDirectory(prefix="embeddings-") as scratch:
        sets = _sets(Path(given), Path(scratch))
        ways = [options.only] if options.only else [*WAYS, *FIXED]
        found = {name: _accuracies(data, options.seeds, ways) for name, data in sets.items()}
        print("\n".join(_page(sets, found, time.monotonic() - began)))
    return 0 if options.only or all(map(_is_reached, found.values())) else 1


def _sets(root: Path, scratch: Path) -> dict[str, PreparedData]:
    folders = DataFolders(root=root, cache=scratch / "cache")
    for name, graph in {"citations": citations(), "molecules": molecules()}.items():
        graph.write(scratch / name)
    sets = {name: scratch / name for name in ("citations", "molecules")}
    if (root / "ogb/ogbn_aifb").is_dir():
        sets["aifb"] = (root / "ogb/ogbn_aifb").absolute()
    return {name: OgbHetero.in_folder(folder).prepare(folders) for name, folder in sets.items()}


Found = Mapping[str, Sequence[Accuracies]]
"""Accuracies of each seed, by the way."""


def _accuracies(data: PreparedData, num_seeds: int, ways: Sequence[str]) -> Found:
    import torch

    from trainables.data.formats.relational_store import RelationalStore

    torch.set_num_threads(1)
    store = RelationalStore.open(data.path)
    found = {}
    for name in ways:
        measure, seeds = {**WAYS, **FIXED}[name], range(1 if name in FIXED else num_seeds)
        found[name] = [measure(store, data, seed) for seed in seeds]
        print(f"{data.name}, {name}: {found[name]}", file=sys.stderr, flush=True)
    return found


def by_validation(found: Found, beginning: str) -> str:
    """Return the way of the best mean validation accuracy among those with this beginning."""
    names = [name for name in found if name.startswith(beginning)]
    return max(names, key=lambda name: statistics.mean(val for val, _ in found[name]))


def _is_reached(found: Found) -> bool:
    chosen, rgcn = by_validation(found, XAVIER), by_validation(found, RGCN)
    is_better_start = _mean(found[XAVIER]) >= _mean(found[NORMAL])
    return is_better_start and _mean(found[chosen]) >= _mean(found[rgcn]) - ALLOWED_BELOW_RGCN


def _mean(accuracies: Sequence[Accuracies]) -> float:
    return statistics.mean(test for _, test in accuracies)


def _page(
    sets: Mapping[str, PreparedData], found: Mapping[str, Found], seconds: float
) -> Iterator[str]:
    yield "# RGAT on small graphs without features\n"
    yield from environment_lines("torch", "dgl")
    knobs = ", ".join(f"{name} {value}" for name, value in SMALL.items())
    yield f"- RGAT: {EPOCHS} epochs, {knobs}"
    yield "- R-GCN: 50 epochs of the whole graph, hidden 16, 30 bases, lr 0.01, unless it is said"
    yield f"- {seconds / 60:.0f} minutes, one core\n"
    yield "| | " + " | ".join(sets) + " |"
    yield "| --- |" + " --- |" * len(sets)
    for what in ("nodes", "relations", "classes", "train", "val", "test"):
        yield f"| {what} | " + " | ".join(f"{data.facts[what]:,}" for data in sets.values()) + " |"
    yield "\nTest accuracy, mean ± standard deviation over seeds:\n"
    yield "| way | " + " | ".join(found) + " |"
    yield "| --- |" + " --- |" * len(found)
    ways = [way for way in (*WAYS, *FIXED) if all(way in of_set for of_set in found.values())]
    for way in ways:
        yield f"| {way} | " + " | ".join(_cell(of_set[way]) for of_set in found.values()) + " |"
    if XAVIER not in ways:
        return
    chosen = (_cell(of_set[by_validation(of_set, XAVIER)]) for of_set in found.values())
    yield "| RGAT, Xavier, weight decay chosen by validation | " + " | ".join(chosen) + " |"


def _cell(accuracies: Sequence[Accuracies]) -> str:
    if len(accuracies) == 1:
        return f"{_mean(accuracies):.3f}"
    return f"{_mean(accuracies):.3f} ± {statistics.stdev(test for _, test in accuracies):.3f}"


if __name__ == "__main__":
    sys.exit(main())
