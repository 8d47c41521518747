"""Ours against what a user would run instead, in the same run, as a ratio with its spread.

Both sides take turns, A B A B, so that a drift of the machine meets both. A benchmark is a file
with two functions, each of which returns one figure of a round, and their :class:`Comparison`.
"""

from __future__ import annotations

import json
import os
import random
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final, TypeVar

T = TypeVar("T")

ROOT: Final = Path(__file__).parents[1]

HEADER: Final = (
    "| what | ours | peer | ratio | range of the ratio | pairs |\n"
    "| --- | --- | --- | --- | --- | --- |"
)


@dataclass(frozen=True, kw_only=True)
class Pairs:
    """Figures of both sides, in the order of the rounds.

    Attributes:
        ours: Figures of ours.
        peer: Figures of the peer.
    """

    ours: Sequence[float]
    peer: Sequence[float]

    @property
    def ratios(self) -> list[float]:
        """Ours over the peer's, round by round."""
        return [a / b for a, b in zip(self.ours, self.peer, strict=True)]

    def row(self, what: str, unit: str) -> str:
        """A row of a Markdown table: medians, the median ratio and its range."""
        ratios = self.ratios
        return (
            f"| {what} | {statistics.median(self.ours):.3g} {unit} | "
            f"{statistics.median(self.peer):.3g} {unit} | {statistics.median(ratios):.3f} | "
            f"{min(ratios):.3f} to {max(ratios):.3f} | {len(ratios)} |"
        )


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """A row of the table, and the median ratio to reach.

    Attributes:
        what: The row's name.
        unit: Unit of both figures.
        pairs: The figures.
        at_least: Least median ratio, or None.
        at_most: Largest median ratio, or None.
    """

    what: str
    unit: str
    pairs: Pairs
    at_least: float | None = None
    at_most: float | None = None

    @property
    def is_reached(self) -> bool:
        """True if the median ratio is within its limits."""
        ratio = statistics.median(self.pairs.ratios)
        low, high = self.at_least, self.at_most
        return (low is None or ratio >= low) and (high is None or ratio <= high)

    @property
    def row(self) -> str:
        """The row, with the ratio to reach in its name."""
        limits = [f"{limit:g}" for limit in (self.at_least, self.at_most) if limit is not None]
        reach = f" (to reach: {', '.join(limits)})" if limits else ""
        return self.pairs.row(f"{self.what}{reach}", self.unit)


def in_turn(ours: Callable[[int], float], peer: Callable[[int], float], *, pairs: int) -> Pairs:
    """Run the two in turn, ``pairs`` times; each gets the number of the round."""
    a, b = [], []
    for index in range(pairs):
        a.append(ours(index))
        b.append(peer(index))
    return Pairs(ours=a, peer=b)


def in_rounds(kinds: Sequence[str], run: Callable[[str], T], *, rounds: int) -> dict[str, list[T]]:
    """Run each kind once a round, in a new order each time; return figures by kind."""
    found: dict[str, list[T]] = {kind: [] for kind in kinds}
    for index in range(rounds):
        for kind in random.Random(index).sample(list(kinds), len(kinds)):
            found[kind].append(run(kind))
            print(f"round {index}, {kind}: {found[kind][-1]}", file=sys.stderr, flush=True)
    return found


def printed(comparisons: Iterable[Comparison], *packages: str) -> int:
    """Print where it ran and the table; return 1 where a ratio is missed, else 0."""
    print("\n".join([*environment_lines(*packages), "", HEADER]))
    is_reached = True
    for comparison in comparisons:
        print(comparison.row, flush=True)
        is_reached &= comparison.is_reached
    return 0 if is_reached else 1


def timed(command: Sequence[str | Path], *, cwd: Path, env: Mapping[str, str]) -> float:
    """Return the seconds of a command from its start to its end.

    Raises:
        RuntimeError: It failed; the message has the end of its output.
    """
    began = time.perf_counter()
    _output(command, cwd, env)
    return time.perf_counter() - began


def in_fresh_process(
    function: Callable[..., Any],
    *arguments: object,
    env: Mapping[str, str] | None = None,
) -> Any:  # noqa: ANN401 - the function's own
    """Call a function of a module in a separate process; return its result.

    Args:
        function: The function; arguments and result pass as JSON.
        *arguments: Its arguments.
        env: Environment of the process; by default this one's.

    Raises:
        RuntimeError: It failed; the message contains the end of its output.
    """
    module = function.__module__
    if module == "__main__":
        module = sys.modules["__main__"].__spec__.name  # type: ignore[union-attr] # run by -m
    code = (
        f"import json, sys; from {module} import {function.__name__} as run; "
        "print(json.dumps(run(*json.loads(sys.argv[1]))))"
    )
    command = [sys.executable, "-W", "ignore", "-c", code, json.dumps(arguments)]
    env = {**(os.environ if env is None else env), "PYTHONPATH": str(ROOT)}
    return json.loads(_output(command, Path.cwd(), env).splitlines()[-1])


def _output(command: Sequence[str | Path], cwd: Path, env: Mapping[str, str]) -> str:
    done = subprocess.run(
        [str(part) for part in command], cwd=cwd, env=dict(env), capture_output=True, text=True,
        stdin=subprocess.DEVNULL, check=False,
    )  # fmt: skip
    if done.returncode:
        raise RuntimeError(f"{command} failed:\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}")
    return done.stdout


def environment_lines(*packages: str) -> list[str]:
    """Command, hardware and versions, as a page of results states them."""
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
