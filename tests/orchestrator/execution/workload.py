"""A sweep file: its trials do whatever a test wants of them."""

import ctypes
import gc
import os
import subprocess
import sys
import time
from typing import Literal

import torch

from orchestrator import Demand, Machine, Sweep, Trainable, both, knobs, maximize, systems
from orchestrator.measurement.run import Run

Act = Literal[
    "train", "raise", "segfault", "exit", "no_memory", "diverge", "sleep", "spawn", "die_once",
    "forget", "describe", "ranks", "rank_dies", "rank_dies_once", "rank_leaves",
    "rank_raises", "rank_without_memory", "print", "set",
]  # fmt: skip


@knobs
class Config:
    act: Act = both(default="train", doc="what to do")
    step_ms: float = both(default=1.0, ge=0, unit="ms", doc="how long a step sleeps")
    num_workers: int = systems(default=0, ge=0, doc="announced, not started")
    allocator: Literal["default", "tuned", "jemalloc"] = systems(default="tuned", doc="as it says")
    ranks: int = systems(default=1, ge=1, doc="processes")
    gpus: int = systems(default=0, ge=0, doc="announced, not used")
    holds_mib: int = systems(default=0, ge=0, unit="MiB", doc="memory, held until it has exited")


_kept: list[torch.Tensor] = []


def train(config: Config, run: Run) -> None:
    _kept.append(torch.ones(config.holds_mib << 18))
    if config.act.startswith("rank"):
        _ranks(config, run)
        return
    state = run.restore() or {"total": torch.zeros(1)}
    total = state["total"]
    for epoch in run.epochs():
        for _ in run.batches(range(20), samples=lambda _: 8):
            time.sleep(config.step_ms / 1000)
            total = total + 1
        if config.act != "forget":
            run.checkpoint({"total": total})
        if config.act in ("die_once", "forget") and epoch == 1 and not _has_died_before(run):
            os.kill(os.getpid(), 9)
        _misbehave(config)
        run.report(val_acc=min(0.5 + epoch / 10, 1.0), total=float(total), **_described(config))


def _misbehave(config: Config) -> None:
    match config.act:
        case "raise":
            sys.stdout.write("about to raise\n")
            raise ValueError("told to")
        case "segfault":
            ctypes.string_at(0)
        case "exit":
            os._exit(3)
        case "no_memory":
            raise MemoryError("cannot hold 7 GiB")
        case "diverge":
            raise FloatingPointError("loss is nan at epoch 0")
        case "sleep":
            time.sleep(600)
        case "spawn":
            # As a loader worker that ignores its parent's death would.
            subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
        case "set":
            torch.set_num_threads(3)
            torch.use_deterministic_algorithms(True)
            torch.backends.cudnn.benchmark = True
        case "print":
            sys.stdout.write("\x00 not a message {\n" * 1000)
            sys.stderr.write("nor is this\n")


def _has_died_before(run: Run) -> bool:
    marker = run.checkpoint_dir / "died"
    if marker.exists():
        return True
    marker.touch()
    return False


def _described(config: Config) -> dict[str, float]:
    if config.act != "describe":
        return {}
    return {
        "pid": os.getpid(),
        "affinity": len(os.sched_getaffinity(0)),
        "niceness": os.getpriority(os.PRIO_PROCESS, 0),
        "tuned": float("MALLOC_TOP_PAD_" in os.environ),
        "oom_score": float(open("/proc/self/oom_score_adj").read()),  # noqa: PTH123
        "sees_gpus": float(os.environ["CUDA_VISIBLE_DEVICES"] != ""),
        "collected": float(len(gc.get_objects())),
    }


def _ranks(config: Config, run: Run) -> None:
    torch.distributed.init_process_group("gloo")
    pids = [torch.zeros(1, dtype=torch.long) for _ in range(config.ranks)]
    torch.distributed.all_gather(pids, torch.tensor([os.getpid()]))
    of_ranks = {f"pid_{rank}": float(pid) for rank, pid in enumerate(pids)}
    for epoch in run.epochs():
        total = torch.tensor([float(run.rank + 1)])
        for _ in run.batches(range(5), samples=lambda _: 4):
            torch.distributed.all_reduce(total.clone())
            time.sleep(config.step_ms / 1000)
        if config.act == "rank_dies" and run.rank == 1:
            os._exit(7)
        if config.act == "rank_dies_once" and run.rank == 1 and not _has_died_before(run):
            os._exit(7)
        if config.act == "rank_leaves" and run.rank == 1:
            os._exit(0)
        if config.act == "rank_raises" and run.rank == 1:
            torch.distributed.destroy_process_group()  # the others fail before it does
            time.sleep(0.2)
            raise ValueError("rank one is unhappy")
        if config.act == "rank_without_memory" and run.rank == 1:
            raise MemoryError("Unable to allocate 3 GiB")
        torch.distributed.all_reduce(total)
        run.report(val_acc=0.5, total=float(total), epoch_index=epoch, **of_ranks)
    torch.distributed.destroy_process_group()


def demand(config: Config, _machine: Machine) -> Demand:
    return Demand(
        ranks=config.ranks, gpus=config.gpus, workers=config.num_workers, allocator=config.allocator
    )


workload = Trainable(
    train, Config, reports=[maximize("val_acc")], demand=demand, preload=("torch",), name="workload"
)

SWEEP = Sweep(workload, question="Does whatever is asked get a row?", space=Config())
