"""Time from a trial's start to its first training step, on a graph that another has opened.

    python -m benchmarks.first_step --scale 1.0

GraphSAGE on products-synthetic, sampled, each trial started as the executors start it.
Prints a markdown table; the exit code is 1 where a trial takes longer than it may.
"""

from __future__ import annotations

import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TypeVar

from benchmarks.side_by_side import environment_lines
from orchestrator import DataFolders, Isolation, Trainable
from orchestrator.arguments import Parser
from orchestrator.execution.base import Launch, Source, Update
from orchestrator.execution.interleaving import Interleaving
from orchestrator.execution.leases import CoreLeases
from orchestrator.execution.placement import local_machine
from orchestrator.execution.process.fork_servers import ForkServers
from orchestrator.execution.supervision.supervisor import Supervisor
from orchestrator.measurement.run import Run
from orchestrator.space.configs import values_of
from orchestrator.trial import Budget, Stage, Trial
from trainables.data.sets.products_synthetic import PRODUCTS_SYNTHETIC
from trainables.graphsage import SageConfig, graphsage, train

B = TypeVar("B")
LIMIT_S = 1.5


class _FirstStepDone(BaseException):
    """Exit from a training function that asks for its second batch."""


class _FirstStep:
    """Run whose epochs have one batch."""

    def __init__(self, run: Run) -> None:
        self._run = run

    def __getattr__(self, name: str) -> object:
        return getattr(self._run, name)

    def batches(self, loader: Iterable[B], *, samples: Callable[[B], int]) -> Iterator[B]:
        """Yield the first batch alone."""
        for batch in self._run.batches(loader, samples=samples):
            yield batch
            raise _FirstStepDone


def _train_a_step(config: SageConfig, run: Run) -> None:
    try:
        train(config, _FirstStep(run))  # type: ignore[arg-type] # a run in all but name
    except _FirstStepDone:
        run.report(train_loss=0.0)


FIRST_STEP = Trainable(
    _train_a_step, SageConfig, data=graphsage.data, preload=graphsage.preload, name="first-step"
)


class _Node:
    """Fork servers of this machine, and the trials forked from them."""

    def __init__(self, scale: str, folders: DataFolders) -> None:
        self._servers = ForkServers()
        self._data, self._folders = f"products-synthetic@{scale}", folders
        self._scratch = Path(tempfile.mkdtemp(prefix="first-step-"))
        self._num_trials = 0

    def start(self, config: SageConfig) -> tuple[Interleaving, float]:
        """Start a trial; return it and the time of its start."""
        launch = self._launch(config)
        server = self._servers.socket_for(launch.demand.allocator, launch.preload)
        leases = CoreLeases()
        running = Interleaving(
            launch, leases, lambda each: Supervisor(each, lambda: server, leases=leases)
        )
        if not running.acquire_cores(timeout_s=10):
            raise SystemExit("the machine's cores are in use by another sweep")
        began = time.monotonic()
        running.next_update()
        return running, began

    def first_step_s(self, started: tuple[Interleaving, float]) -> float:
        """Return the seconds from a trial's start to the end of its first step."""
        running, began = started
        answer = running.next_update()
        elapsed = time.monotonic() - began
        update = None if answer is None else answer[1]
        if not isinstance(update, Update):
            raise SystemExit(f"the trial has failed: {getattr(update, 'reason', update)}")
        running.stop()
        return elapsed

    def close(self) -> None:
        """End the servers."""
        self._servers.close()
        shutil.rmtree(self._scratch)

    def _launch(self, config: SageConfig) -> Launch:
        self._num_trials += 1
        trial = Trial(
            id=f"first-step-{self._num_trials}",
            stage=Stage.TRAIN,
            config=values_of(config),
            budget=Budget(epochs=1),
            seed=self._num_trials,
        )
        return Launch(
            trial=trial,
            source=Source(module="benchmarks.first_step", attribute="FIRST_STEP"),
            demand=graphsage.demand_of(config, local_machine()),
            num_cores=1,
            isolation=Isolation.SHARED,
            data=self._data,
            folders=self._folders,
            preload=tuple(graphsage.preload),
            time_limit_s=None,
            retries=0,
            scratch=self._scratch,
        )


def _times(scale: str, cache: Path, repeats: int) -> Iterator[tuple[str, list[float]]]:
    """Yield the name of each measurement with the seconds of its trials."""
    folders = DataFolders(root=cache, cache=cache)
    facts = PRODUCTS_SYNTHETIC.at(scale).prepare(folders).facts
    print(f"| nodes, stored edges | {facts['nodes']:,}, {facts['edges']:,} |")
    node = _Node(scale, folders)
    node.first_step_s(node.start(SageConfig()))  # the first trial, and the server's imports
    for num_workers in (0, 2):
        config = SageConfig(num_workers=num_workers)
        times = [node.first_step_s(node.start(config)) for _ in range(repeats)]
        yield f"process start to first step done, num_workers={num_workers}", times
    together = [node.start(SageConfig()) for _ in range(4)]
    yield "the same, four at once", [node.first_step_s(started) for started in together]
    node.close()


def _row(what: str, times: Sequence[float]) -> str:
    verdict = "within" if max(times) <= LIMIT_S else "above"
    return (
        f"| {what} | {statistics.median(times):.2f} s, {min(times):.2f} to {max(times):.2f} "
        f"({verdict} {LIMIT_S} s) |"
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Run it and print the table; return 1 where a step came later than it may."""
    parser = Parser(description=__doc__.partition("\n")[0])
    parser.add_argument("--scale", default="0.03", help="share of ogbn-products' size")
    parser.add_argument("--folder", type=Path, help="where to write the graph and keep it")
    parser.add_argument("--repeats", type=int, default=5, help="trials of each kind")
    options = parser.parse_args(arguments)
    slowest_s = 0.0
    with tempfile.TemporaryDirectory(prefix="first-step-") as scratch:
        print("\n".join([*environment_lines("torch", "dgl"), "", "| | |", "| --- | --- |"]))
        for what, times in _times(options.scale, options.folder or Path(scratch), options.repeats):
            print(_row(what, times), flush=True)
            slowest_s = max(slowest_s, *times)
    return 0 if slowest_s <= LIMIT_S else 1


if __name__ == "__main__":
    sys.exit(main())
