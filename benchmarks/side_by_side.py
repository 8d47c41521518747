"""Two commands in turn, A B A B, and the ratio of their figures with its spread."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

ROOT = Path(__file__).parents[1]

NOTHING_TO_RECOMMEND = 3
"""Exit code of a sweep all of whose trials have rows, and none of which can be recommended."""


@dataclass(frozen=True, kw_only=True)
class Pairs:
    """Figures of A and B from runs made in turn.

    Attributes:
        ours: Figures of A, in the order of the runs.
        peer: Figures of B.
    """

    ours: Sequence[float]
    peer: Sequence[float]

    @property
    def ratios(self) -> list[float]:
        """A over B, pair by pair."""
        return [a / b for a, b in zip(self.ours, self.peer, strict=True)]

    def row(self, what: str, unit: str) -> str:
        """A row of a markdown table: medians, the median ratio and its range."""
        ratios = self.ratios
        return (
            f"| {what} | {statistics.median(self.ours):.3g} {unit} | "
            f"{statistics.median(self.peer):.3g} {unit} | {statistics.median(ratios):.3f} | "
            f"{min(ratios):.3f} to {max(ratios):.3f} | {len(ratios)} |"
        )


HEADER = (
    "| what | ours | peer | ratio | range of the ratio | pairs |\n"
    "| --- | --- | --- | --- | --- | --- |"
)


def in_turn(ours: Callable[[int], float], peer: Callable[[int], float], *, pairs: int) -> Pairs:
    """Run the two in turn, ``pairs`` times."""
    a, b = [], []
    for index in range(pairs):
        a.append(ours(index))
        b.append(peer(index))
    return Pairs(ours=a, peer=b)


def timed(command: Sequence[str | Path], *, cwd: Path, env: Mapping[str, str]) -> float:
    """Return the seconds of a command from its start to its end.

    Raises:
        RuntimeError: It failed; the message holds its output.
    """
    began = time.perf_counter()
    done = subprocess.run(
        [str(part) for part in command], cwd=cwd, env=dict(env), capture_output=True, text=True,
        stdin=subprocess.DEVNULL, check=False,
    )  # fmt: skip
    elapsed = time.perf_counter() - began
    if done.returncode:
        raise RuntimeError(f"{command} failed:\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}")
    return elapsed


def output_of(command: Sequence[str | Path], folder: Path) -> str:
    """Return the output of a command of this repository run in ``folder`` and with its cache there.

    A sweep that ended with nothing to recommend, as one of probes alone does, is as good.

    Raises:
        SystemExit: It failed; the message holds its output.
    """
    done = subprocess.run(
        [str(part) for part in command],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT), "SWEEP_CACHE": str(folder / "cache")},
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        check=False,
    )
    if done.returncode not in (0, NOTHING_TO_RECOMMEND):
        raise SystemExit(f"{command} failed:\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}")
    return done.stdout


def environment_lines(*packages: str) -> list[str]:
    """Hardware and versions, as a results file states them."""
    from orchestrator.provenance.environment import environment

    hardware = environment(Path(__file__))["hardware"]
    main = sys.modules["__main__"].__spec__
    name = (main.name if main else sys.argv[0]).removesuffix(".__main__")
    versions = ", ".join(f"{package} {version(package)}" for package in packages)
    return [
        f"- command: `{' '.join(['python -m', name, *sys.argv[1:]])}`",
        f"- hardware: {hardware}",
        f"- versions: Python {sys.version.split()[0]}, {versions}",
    ]
