"""Runs of more and more ranks, each with the time to an accuracy that the test sets."""

import math
from collections.abc import Mapping, Sequence

from tests.orchestrator.analysis.made_runs import MadeRun, config


def by_ranks(times: Mapping[int, Sequence[float]], spread: float = 0.001) -> MadeRun:
    """Runs on as many GPUs as ranks that are at 0.9 after these seconds, and worse in the end."""
    made = MadeRun()
    for ranks, seconds in times.items():
        for repeat, mean in enumerate(seconds):
            s = mean * math.exp(spread * (1 - 2 * (repeat % 2)))
            cells = {"device": ", ".join(["H200"] * ranks), "wall_s": 2 * s}
            cells |= {"metrics.energy_j": 2 * s * 300 * ranks, "metrics.val_acc": 0.9 - ranks / 100}
            c = config(ranks=ranks, batch_size=1000 * ranks)
            row = made.add(c, repeat=repeat, **cells)  # type: ignore[arg-type]
            made.curves = [each for each in made.curves if each["trial_id"] != row["trial_id"]]
            for epoch, accuracy in enumerate((0.5, 0.9 if s < 1000 else 0.6), start=1):
                made.curves.append(
                    {"trial_id": row["trial_id"], "step": epoch, "epoch": epoch, "samples": epoch,
                     "elapsed_s": epoch * s / 2, "metrics.val_acc": accuracy}
                )  # fmt: skip
    made.sweep |= {"prices": {"gpu_hour": 2.0}, "space": {"ranks": "choice(1, 2, 4, 8)"}}
    return made
