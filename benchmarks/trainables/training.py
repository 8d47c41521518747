"""One training of a trainable, without an executor, and the environment of both sides."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from benchmarks.harness import Comparison, Pairs
from orchestrator import Trainable
from orchestrator.data import PreparedData
from orchestrator.measurement.run import Context, Run
from orchestrator.system.allocators import allocator_environment
from orchestrator.trial import Budget, Report

NUM_CORES: Final = 2


def tuned_environment() -> dict[str, str]:
    """Return the environment of a process of either side: its allocator, and DGL's backend."""
    return allocator_environment("tuned", {**os.environ, "DGLBACKEND": "pytorch"})


def bind() -> int:
    """Bind this process to the first :data:`NUM_CORES` cores; return how many there are."""
    import torch

    cores = sorted(os.sched_getaffinity(0))[:NUM_CORES]
    os.sched_setaffinity(0, cores)
    torch.set_num_threads(len(cores))
    return len(cores)


def trained(
    trainable: Trainable[Any],
    config: Any,  # noqa: ANN401 - the trainable's own
    data: Path,
    budget: Budget,
    *,
    run_of: Callable[[Context, Any], Run] = Run,
) -> Run:
    """Train once, on this process's cores; return the run.

    Args:
        trainable: The trainable.
        config: Its config.
        data: Folder of the prepared data.
        budget: Length of the training.
        run_of: Makes the run of its context and channel.
    """

    class Unread:
        def report(self, report: Report) -> bool:
            return False

    place = Context(
        seed=0,
        budget=budget,
        num_cores=bind(),
        num_workers=getattr(config, "num_workers", 0),
        evaluate_test=True,
        data=PreparedData(name="", path=data, fingerprint=""),
    )
    run = run_of(place, Unread())
    trainable.train(config, run)
    return run


def compared(
    rates: Mapping[str, Sequence[float]], table: Sequence[tuple[str, str, float]], unit: str
) -> Iterator[Comparison]:
    """Yield a row for each of ours, its peer, and the least ratio."""
    for ours, peer, least in table:
        pairs = Pairs(ours=rates[ours], peer=rates[peer])
        yield Comparison(what=f"{ours} to {peer}", unit=unit, pairs=pairs, at_least=least)
