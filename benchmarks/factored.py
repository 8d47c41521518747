"""A factored search compared with a grid over the same space: time, and selected config.

    python -m benchmarks.factored [--pairs 3]

LeNet-5 on handwritten digits with four worker counts (a ``systems`` knob) and six learning rates:
a grid trains 24 configs, a factored search probes four and trains six or seven. Both run inline,
in alternation. Prints markdown: wall times with their ratio, and for each run the selected config
with its speed and accuracy. The peer is the grid of this program; Ray Tune has no such search.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from analysis.recommendation.recommend import recommend
from analysis.tables.load import load_run
from benchmarks.side_by_side import HEADER, environment_lines, in_turn, timed

ROOT = Path(__file__).parents[1]
SWEEP = '''"""Which workers and learning rate?"""

from orchestrator import Sweep, choice
from trainables.lenet import LeNetConfig, lenet

SWEEP = Sweep(
    lenet,
    question="Which workers and learning rate?",
    space=LeNetConfig(
        num_workers=choice(0, 1, 2, 3), lr=choice(0.003, 0.01, 0.03, 0.1, 0.2, 0.3), eval_every=40,
        persistent_workers=True,
    ),
    baseline=LeNetConfig(lr=0.01, eval_every=40),
    epochs=40,
    data="digits",
    check_isolated=0,
    max_repeats=1,
    confirm=0,
)
'''


def main(arguments: Sequence[str] | None = None) -> int:
    """Run both and print the tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--pairs", type=int, default=3, help="runs of each, in turn")
    options = parser.parse_args(arguments)
    selected: list[str] = []
    with tempfile.TemporaryDirectory(prefix="factored-") as name:
        folder = Path(name)
        (folder / "workers.py").write_text(SWEEP)
        factored, grid = (partial(_seconds, folder, way, selected) for way in ("factored", "grid"))
        pairs = in_turn(factored, grid, pairs=options.pairs)
    print("\n".join([*environment_lines("torch", "torchvision"), "", HEADER]))
    print(pairs.row("wall time of the sweep", "s"))
    print("\n| search | probes | trained | selected | samples/s | val_acc |")
    print("\n".join(["| --- | --- | --- | --- | --- | --- |", *selected]))
    return 0


def _seconds(folder: Path, way: str, selected: list[str], index: int) -> float:
    """Run the sweep by one search, and add a row about the config that it selected."""
    out = folder / f"{way}-{index}"
    command: list[str | Path] = [
        sys.executable, "-m", "orchestrator", "workers.py", "--search", way, "--out", out,
        "--executor", "inline", "--no-mlflow",
    ]  # fmt: skip
    took = timed(command, cwd=folder, env={**os.environ, "PYTHONPATH": str(ROOT)})
    tables = load_run(out)
    chosen = recommend(tables)
    stages = tables.trials["stage"].value_counts()
    config = chosen.config or {}
    knobs = ", ".join(f"{name}={config.get(name)}" for name in ("num_workers", "lr"))
    selected.append(
        f"| {way} | {stages.get('probe', 0)} | {stages.get('train', 0)} | {knobs} | "
        f"{chosen.figures['samples_per_s']:,.0f} | {chosen.figures['val_acc']:.4f} |"
    )
    return took


if __name__ == "__main__":
    sys.exit(main())
