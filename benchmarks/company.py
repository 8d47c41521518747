"""How well the check of company tells what company does, in turns and without.

    python -m benchmarks.company lenet graphsage

The same sweep again and again, by turns with runs that take turns and with runs that follow each
other, as in a loop written by hand. Each checks two configs alone and beside others, in three
rounds. What company does is the same each time, so that the check is the better the less its
answers differ. Prints a markdown table: the mean of the answers (the speed beside others over that
alone), what they spread by from sweep to sweep, half of the interval that a sweep states, and the
seconds that a sweep took.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from benchmarks.side_by_side import environment_lines, output_of
from orchestrator.arguments import whole_number

EPOCHS: Final = {"lenet": 60, "graphsage": 24}
"""Of a trial: about six seconds."""
WAYS: Final = {"in turns": True, "one after another": False}
FILE: Final = """
from dataclasses import replace

from benchmarks.fidelity.{name} import SWEEP as TWO_CONFIGS

SWEEP = replace(TWO_CONFIGS, epochs={epochs}, check_isolated=2, interleaved={interleaved})
"""
HEADER: Final = (
    "| trainable | runs of a round | sweeps | beside over alone | spread | as stated | took |\n"
    "| --- | --- | --- | --- | --- | --- | --- |"
)


@dataclass(frozen=True, kw_only=True)
class Answer:
    """Of one sweep.

    Attributes:
        ratio: Speed beside others over that alone.
        half: Half of its 95 % interval, on the logarithmic scale.
        seconds: How long the sweep took.
    """

    ratio: float
    half: float
    seconds: float


def _answer(name: str, folder: Path, *, interleaved: bool) -> Answer:
    here = Path(tempfile.mkdtemp(dir=folder))
    file, out = here / f"{name}.py", here / "run"
    file.write_text(FILE.format(name=name, epochs=EPOCHS[name], interleaved=interleaved))
    began = time.monotonic()
    output_of([sys.executable, "-m", "orchestrator", file, "--no-mlflow", "--out", out], folder)
    seconds = time.monotonic() - began
    told = json.loads((out / "recommended.json").read_text())["beside_others"]
    half = math.log(told["high"] / told["low"]) / 2
    return Answer(ratio=told["ratio_to_alone"], half=half, seconds=seconds)


def _row(name: str, way: str, answers: Sequence[Answer]) -> str:
    """A row of the table; the spread is a standard deviation of logarithms."""
    logs = [math.log(answer.ratio) for answer in answers]
    half = statistics.median(answer.half for answer in answers)
    seconds = statistics.median(answer.seconds for answer in answers)
    return (
        f"| {name} | {way} | {len(answers)} | {math.exp(statistics.mean(logs)):.3f} | "
        f"{statistics.stdev(logs):.1%} | ±{half:.1%} | {seconds:.0f} s |"
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="+", choices=list(EPOCHS))
    parser.add_argument("--sweeps", type=whole_number(2), default=5, help="of each way")
    options = parser.parse_args(arguments)
    if len(os.sched_getaffinity(0)) < 2:
        parser.error("a trial is beside others from two cores up")
    print("\n".join([*environment_lines("torch", "dgl", "ray"), "", HEADER]), flush=True)
    with tempfile.TemporaryDirectory(prefix="company-") as folder:
        for name in options.names:
            answers: dict[str, list[Answer]] = {way: [] for way in WAYS}
            for _ in range(options.sweeps):
                for way, interleaved in WAYS.items():
                    answers[way].append(_answer(name, Path(folder), interleaved=interleaved))
            for way in WAYS:
                print(_row(name, way, answers[way]), flush=True)


if __name__ == "__main__":
    main()
