"""A sweep file: its trials load their cores, take memory and start workers, as a test asks.

With ``num_items`` they, and their loader workers, write down when they were at work.
"""

import argparse
import atexit
import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Literal, TextIO

import torch
from torch.utils.data import DataLoader

from orchestrator import Demand, Machine, Sweep, Trainable, both, knobs, maximize
from orchestrator.measurement.run import Run

Act = Literal[
    "burn",
    "eat",
    "refused",
    "threads",
    "loader",
    "wait",
    "die_once",
    "raise",
    "spawn",
    "detach",
    "parse",
    "exit",
    "mutter",
    "litter",
    "leave",
]


@knobs
class Config:
    act: Act = both(default="burn", doc="behaviour")
    duration_s: float = both(default=0.1, gt=0, unit="s", doc="of an epoch")
    mib: int = both(default=64, ge=1, unit="MiB", doc="taken in each step")
    num_items: int = both(default=0, ge=0, doc="of a loader, each with a step; 0: no loader")
    step_ms: float = both(default=5.0, gt=0, unit="ms", doc="of computing in such a step")
    num_workers: int = both(default=0, ge=0, doc="processes of that loader")


def train(config: Config, run: Run) -> None:
    run.restore()
    eaten: list[torch.Tensor] = []
    for epoch in run.epochs():
        if config.act == "loader":
            _iterate(run)
        if config.act == "detach":
            _detach(run)
        if config.act == "litter":
            print(tempfile.mkdtemp())
            shutil.rmtree(tempfile.gettempdir())
        if config.act == "leave":
            _leave()
        if config.act == "mutter":
            _report_half(run)
        if config.num_items:
            _witness(config, run)
        else:
            for step in run.batches(range(1_000_000), samples=lambda _: 1):
                if not _step(config, step, eaten):
                    break
        if config.act == "die_once" and epoch == 1 and not _has_died(run):
            os.kill(os.getpid(), 9)
        if config.act == "spawn":
            with _pids_file(run).open("w") as pids:
                pids.write(str(subprocess.Popen(["sleep", "600"]).pid))
            os.kill(os.getpid(), 9)
        if config.act == "parse":
            argparse.ArgumentParser("greedy").parse_args()
        if config.act == "exit":
            _leave_to_the_end(run, config.step_ms / 1000)
        if config.act == "raise":
            print("about to raise")
            raise ValueError("asked to")
        run.checkpoint({"epoch": torch.tensor(epoch)})
        run.report(val_acc=0.5, **_described(config))


def _leave() -> None:
    """Leave a file in shared memory, and a temporary one; fail."""
    Path(tempfile.gettempdir(), "large").write_bytes(bytes(2**20))
    with Path("/dev/shm", f"left-by-{os.getpid()}").open("wb") as shared:
        print(shared.name)
        time.sleep(1.2)  # until it was seen
    raise OSError(28, "No space left on device")


def _step(config: Config, step: int, eaten: list[torch.Tensor]) -> bool:
    """Return True if there is more to do in this epoch after the step."""
    if config.act in ("wait", "detach"):
        time.sleep(config.duration_s)
        return False
    if config.act == "eat":
        eaten.append(torch.ones(config.mib * 2**18))
        time.sleep(0.02)
        return True
    if config.act == "refused" and step == 3:
        raise MemoryError("Unable to allocate 7.5 GiB for an array")
    began = time.perf_counter()
    while time.perf_counter() - began < 0.01:
        sum(range(1000))
    return step < config.duration_s / 0.01


def _witness(config: Config, run: Run) -> None:
    book = run.checkpoint_dir.parents[1] / f"book-{run.checkpoint_dir.name}"
    items = Items(config.num_items, book)
    loader = DataLoader(items, batch_size=None, num_workers=config.num_workers)
    for _ in run.batches(loader, samples=lambda _: 8):
        _work(config.step_ms / 1000, book)


class Items(torch.utils.data.Dataset[int]):
    """So many; making one takes five milliseconds."""

    def __init__(self, num_items: int, book: Path) -> None:
        self._num_items, self._book = num_items, book

    def __len__(self) -> int:
        return self._num_items

    def __getitem__(self, index: int) -> int:
        _work(0.005, self._book)
        return index


def _work(seconds: float, book: Path) -> None:
    """Compute for so long, and write down when."""
    began, until = time.monotonic(), time.thread_time() + seconds
    while time.thread_time() < until:
        sum(range(100))
    with book.open("a") as file:
        file.write(f"{began} {time.monotonic()}\n")


LOG: list[TextIO] = []


def _leave_to_the_end(run: Run, after_s: float) -> None:
    """Leave a row in a buffer and a file to an exit handler, which takes so long."""
    LOG.append(_pids_file(run).with_name("rows").open("w"))
    LOG[0].write("a row")
    atexit.register(_pids_file(run).touch)
    atexit.register(time.sleep, after_s)


def _report_half(run: Run) -> None:
    """Begin a message to the supervisor, and train on."""
    pipe = run._channel._connection  # type: ignore[attr-defined]
    os.write(pipe.fileno(), b"\0\0\1\0half")
    time.sleep(600)


def _has_died(run: Run) -> bool:
    marker = run.checkpoint_dir.parents[1] / "died"
    if marker.exists():
        return True
    marker.touch()
    return False


def _pids_file(run: Run) -> Path:
    return run.checkpoint_dir.parents[1] / "pids"


def _detach(run: Run) -> None:
    """Start processes in new sessions: a program, and a process that daemonizes."""
    program = subprocess.Popen(["sleep", "600"], start_new_session=True)
    if os.fork() == 0:
        os.setsid()
        parent = os.getpid()
        if os.fork() == 0:
            while os.getppid() == parent:  # it is to outlive what forked it
                time.sleep(0.001)
            with _pids_file(run).open("a") as pids:
                pids.write(f"{os.getpid()}\n")
            time.sleep(600)
        os._exit(0)
    with _pids_file(run).open("a") as pids:
        pids.write(f"{program.pid}\n")


class _Pids(torch.utils.data.Dataset[int]):
    """Without end; each item is the process that made it."""

    def __len__(self) -> int:
        return 1_000_000

    def __getitem__(self, index: int) -> int:
        time.sleep(0.01)
        return os.getpid()


def _iterate(run: Run) -> None:
    for batch in DataLoader(_Pids(), batch_size=1, num_workers=2):
        with _pids_file(run).open("a") as pids:
            pids.write(f"{os.getpid()}\n{int(batch)}\n")


def _described(config: Config) -> dict[str, float]:
    """Return the number of threads after a backward, and of sets of cores that they run on."""
    if config.act != "threads":
        return {}
    torch.set_num_threads(4)
    weight = torch.ones(512, 512, requires_grad=True)
    (torch.ones(512, 512) @ weight).relu().sum().backward()
    threads = [int(task.name) for task in Path("/proc/self/task").iterdir()]
    cores = {tuple(sorted(os.sched_getaffinity(thread))) for thread in threads}
    loader = DataLoader(_Affinity(), batch_size=None, num_workers=2)
    cores |= {tuple(of_worker) for of_worker in loader}
    return {
        "num_threads": float(len(threads)),
        "num_sets": float(len(cores)),
        "core": float(min(min(each) for each in cores)),
        "num_cores": float(max(len(each) for each in cores)),
    }


class _Affinity(torch.utils.data.Dataset[list[int]]):
    """The cores of every thread of the worker that makes the item."""

    def __len__(self) -> int:
        return 4

    def __getitem__(self, index: int) -> list[int]:
        torch.ones(256, 256) @ torch.ones(256, 256)
        tasks = [int(task.name) for task in Path("/proc/self/task").iterdir()]
        return sorted(set().union(*(os.sched_getaffinity(task) for task in tasks)))


def demand(config: Config, _machine: Machine) -> Demand:
    return Demand(workers=config.num_workers, burst=max(config.num_workers * 2, 1))


greedy = Trainable(
    train,
    Config,
    reports=[maximize("val_acc")],
    demand=demand,
    preload=("torch", "torch.utils.data"),
    name="greedy",
)

SWEEP = Sweep(greedy, question="What becomes of a trial that takes what it can?", space=Config())
