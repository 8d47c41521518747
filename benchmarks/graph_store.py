"""Cost of a graph in the store: to generate, to open, and to share between trials.

    python -m benchmarks.graph_store --scale 1.0

The trials are GraphSAGE's, sampled, with its default knobs. Prints a markdown table. Its last row
is the promise: four trials hold one copy of the data. The exit code is 1 where they hold more.
"""

from __future__ import annotations

import multiprocessing
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import TypeVar

from orchestrator.arguments import Parser

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from orchestrator.data import DataFolders, PreparedData
from orchestrator.measurement.context import Context
from orchestrator.measurement.run import Run
from orchestrator.trial import Budget, Report
from trainables.data.formats.graph_store import ARRAYS, GraphStore
from trainables.data.sets.products_synthetic import PRODUCTS_SYNTHETIC

B = TypeVar("B")

_NUM_TRIALS = 4
_NUM_STEPS = 20
_TINY = "0.002"
"""A scale at which the data's memory is nothing beside the trial's."""
_GIB = 2**30
MOST_SHARED = 1.15
"""Data in memory of several trials at once over that of one."""


@dataclass(frozen=True, kw_only=True)
class Opened:
    """Figures of a process that trained on a store."""

    first_step_s: float
    own_bytes: int
    """Memory of its own that it had taken when it was about to fetch its first batch."""


@dataclass(frozen=True, kw_only=True)
class Generated:
    """Cost of generating; ``made`` is false where the store was there already."""

    data: PreparedData
    s: float
    peak_gib: float
    made: bool


class Trial:
    """A process that trains on a store for some steps, and stays until it is told to end."""

    def __init__(
        self, context: multiprocessing.context.ForkServerContext, data: PreparedData
    ) -> None:
        self._pipe, theirs = context.Pipe()
        started = time.monotonic()
        self._process: BaseProcess = context.Process(
            target=_train, args=(data, theirs, started), daemon=True
        )
        self._process.start()

    def opened(self) -> Opened:
        """Wait until it has taken its steps."""
        result = self._pipe.recv()
        assert isinstance(result, Opened)
        return result

    def data_gib(self, folder: Path) -> float:
        """Return its proportional share of the pages of the store, in GiB."""
        return _proportional_bytes(self._process.pid or 0, folder) / _GIB

    def read_all(self) -> None:
        """Have it read the whole store, as an evaluation over all nodes does."""
        self._pipe.send("read")
        self._pipe.recv()

    def end(self) -> None:
        """End it."""
        self._pipe.send("end")
        self._process.join()


class _Trained(BaseException):
    """Exit from a training function in the midst of its epoch."""


class _Unheard:
    """Channel whose reports go nowhere."""

    def report(self, report: Report) -> bool:
        """Go on."""
        return False


class _FewSteps(Run):
    """A run that leaves after a few steps of its first epoch, and notes what it has taken."""

    def __init__(self, where: Context, started: float) -> None:
        super().__init__(where, _Unheard())
        self._started, self._before = started, _own_bytes()
        self.first_step_s = 0.0
        self.own_bytes = 0

    def batches(self, loader: Iterable[B], *, samples: Callable[[B], int]) -> Iterator[B]:
        """The first batches alone."""
        self.own_bytes = _own_bytes() - self._before
        for number, batch in enumerate(super().batches(loader, samples=samples)):
            yield batch
            self.first_step_s = self.first_step_s or time.monotonic() - self._started
            if number + 1 == _NUM_STEPS:
                break
        raise _Trained


def _train(data: PreparedData, pipe: Connection, started: float) -> None:
    # Not above: what generates the graph, and how much memory that takes, needs none of it.
    from trainables.graphsage import SageConfig, graphsage

    run = _FewSteps(Context(seed=os.getpid(), budget=Budget(epochs=1), data=data), started)
    with suppress(_Trained):
        graphsage.train(SageConfig(), run)
    pipe.send(Opened(first_step_s=run.first_step_s, own_bytes=run.own_bytes))
    tensors = GraphStore.open(data.path).tensors()
    while pipe.recv() == "read":
        for name in ARRAYS:
            getattr(tensors, name).sum()
        pipe.send("done")


def _own_bytes() -> int:
    """Memory of this process that belongs to no file."""
    lines = Path("/proc/self/smaps_rollup").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("Anonymous:"))


def _proportional_bytes(pid: int, folder: Path) -> int:
    """Sum of ``Pss`` over the mappings of files in ``folder``."""
    total, within = 0, False
    for line in Path(f"/proc/{pid}/smaps").read_text().splitlines():
        key, _, rest = line.partition(" ")
        if not key.endswith(":"):
            within = str(folder) in line
        elif within and key == "Pss:":
            total += int(rest.split()[0]) * 1024
    return total


def _generate(scale: str, cache: Path, pipe: Connection) -> None:
    start, start_ns = time.monotonic(), time.time_ns()
    data = PRODUCTS_SYNTHETIC.at(scale).prepare(DataFolders(root=cache, cache=cache))
    # Not getrusage: that begins with the peak of the process which started this one.
    status = Path("/proc/self/status").read_text()
    peak_gib = int(status.partition("VmHWM:")[2].split()[0]) / 2**20
    made = data.path.stat().st_mtime_ns > start_ns
    pipe.send(Generated(data=data, s=time.monotonic() - start, peak_gib=peak_gib, made=made))


def _forget(folder: Path) -> None:
    """Drop the store's files from the page cache."""
    for path in folder.glob("*.npy"):
        with path.open("rb") as file:
            os.fsync(file.fileno())
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


@contextmanager
def _trials(
    context: multiprocessing.context.ForkServerContext, data: PreparedData, count: int
) -> Iterator[tuple[list[Trial], list[Opened]]]:
    trials = [Trial(context, data) for _ in range(count)]
    opened = [trial.opened() for trial in trials]
    yield trials, opened
    for trial in trials:
        trial.end()


def _measured(scale: str, cache: Path, row: Callable[[str, str], None]) -> float:
    """Yield the rows of the table; return the last one's ratio."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["trainables.graphsage", "torch._dynamo"])
    with _trials(context, _in_process(_TINY, cache).data, 1):
        pass  # the server's own imports are over now
    with _trials(context, _in_process(_TINY, cache).data, 1) as (_, [opened]):
        without_data_bytes = opened.own_bytes
    generated = _in_process(scale, cache)
    data, folder, facts = generated.data, generated.data.path, generated.data.facts
    size_gib = sum(path.stat().st_size for path in folder.glob("*.npy")) / _GIB
    row("nodes, stored edges", f"{facts['nodes']:,}, {facts['edges']:,}")
    row("size of the store", f"{size_gib:.2f} GiB")
    if generated.made:
        row("generating, writing and hashing it", f"{generated.s:.1f} s")
        row("peak memory of that", f"{generated.peak_gib:.2f} GiB")
    with _trials(context, data, 1) as ([trial], [opened]):
        row("process start to first step done", f"{opened.first_step_s * 1000:.0f} ms")
        trial.read_all()
        copied_gib = (opened.own_bytes - without_data_bytes) / _GIB
        row("of the data in memory of a trial's own", f"{round(copied_gib * 1024)} MiB")
        alone_gib = trial.data_gib(folder) + copied_gib
    with _trials(context, data, _NUM_TRIALS) as (trials, several):
        slowest_s = max(opened.first_step_s for opened in several)
        row(f"{_NUM_TRIALS} at once, the slowest to its first step", f"{slowest_s * 1000:.0f} ms")
        for trial in trials:
            trial.read_all()
        together_gib = sum(trial.data_gib(folder) for trial in trials)
        together_gib += sum(one.own_bytes - without_data_bytes for one in several) / _GIB
    _forget(folder)
    with _trials(context, data, 1) as (_, [opened]):
        row("one, with nothing in the page cache", f"{opened.first_step_s * 1000:.0f} ms")
    row("data in memory, one trial", f"{alone_gib:.2f} GiB")
    row(f"data in memory, sum of {_NUM_TRIALS} (PSS)", f"{together_gib:.2f} GiB")
    ratio = together_gib / alone_gib
    row(f"ratio (at most {MOST_SHARED:g})", f"{ratio:.3f}")
    return ratio


def _in_process(scale: str, cache: Path) -> Generated:
    """Generate in a process of its own, whose peak memory is that of generating alone."""
    mine, theirs = multiprocessing.Pipe()
    process = multiprocessing.get_context("spawn").Process(
        target=_generate, args=(scale, cache, theirs)
    )
    process.start()
    result = mine.recv()
    process.join()
    assert isinstance(result, Generated)
    return result


def main(arguments: Sequence[str] | None = None) -> int:
    """Run it and print the table; return 1 where trials do not share the data."""
    parser = Parser(description=__doc__.partition("\n")[0])
    parser.add_argument("--scale", default="0.03", help="share of ogbn-products' size")
    parser.add_argument("--folder", type=Path, help="where to write the store and keep it")
    options = parser.parse_args(arguments)

    def row(name: str, value: str) -> None:
        print(f"| {name} | {value} |", flush=True)

    with tempfile.TemporaryDirectory(prefix="graph-store-") as scratch:
        print(f"| products-synthetic@{options.scale}, {os.cpu_count()} cores | |\n| --- | --- |")
        ratio = _measured(options.scale, options.folder or Path(scratch), row)
    return 0 if ratio <= MOST_SHARED else 1


if __name__ == "__main__":
    sys.exit(main())
