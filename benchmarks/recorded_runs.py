"""Records the runs that the notebooks are about, of this code on this machine.

    python -m benchmarks.recorded_runs [--only products_loader] [--again]

Takes a quarter of an hour of a quiet machine. Without ``--again`` earlier recordings are kept.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from orchestrator.arguments import Parser
from orchestrator.storage.files import RunFile

ROOT: Final = Path(__file__).resolve().parents[1]
RECORDED: Final = ROOT / "analysis" / "notebooks" / "recorded"
RUNS: Final = {
    "graph_memory": "graph_memory",
    "mag240m_prefetch": "mag240m_prefetch",
    "mnist_dataloader": "mnist_dataloader",
    "mnist_parallel": "mnist_parallel",
    "products_loader_before": "products_loader",
    "products_loader": "products_loader",
}
"""Name of each recording, and its sweep."""
KEPT: Final = (
    RunFile.SWEEP, RunFile.JOURNAL, RunFile.TRIALS, RunFile.CURVES, RunFile.STEP_TIMES,
)  # fmt: skip
TEXTS: Final = (RunFile.SWEEP, RunFile.JOURNAL)


def record(name: str) -> None:
    """Run a sweep and keep its record and its tables, without folders of this machine."""
    with tempfile.TemporaryDirectory() as folder:
        run_dir = Path(folder) / name
        sweep = f"sweeps/{RUNS[name]}.py"
        words = [sweep, "--out", str(run_dir), "--data-root", str(Path(folder) / "data")]
        subprocess.run(
            [sys.executable, "-m", "orchestrator", *words, "--no-mlflow"], cwd=ROOT, check=True
        )
        to = RECORDED / name
        shutil.rmtree(to, ignore_errors=True)
        to.mkdir(parents=True)
        for file in KEPT:
            shutil.copy(run_dir / file, to / file)
        for file in TEXTS:
            text = (to / file).read_text(encoding="utf-8")
            for path, short in (
                (f"{ROOT}/", ""),
                (f"{folder}/", "runs/"),
                (sys.executable, "python"),
            ):
                text = text.replace(path, short)
            (to / file).write_text(text, encoding="utf-8")


def main(arguments: Sequence[str] | None = None) -> int:
    """Record what is not recorded yet."""
    parser = Parser(prog="python -m benchmarks.recorded_runs", description=__doc__)
    parser.add_argument("--only", nargs="+", choices=RUNS, default=list(RUNS))
    parser.add_argument("--again", action="store_true", help="also what was recorded before")
    options = parser.parse_args(arguments)
    for name in options.only:
        if options.again or not (RECORDED / name).exists():
            record(name)
    return 0


if __name__ == "__main__":
    sys.exit(main())
