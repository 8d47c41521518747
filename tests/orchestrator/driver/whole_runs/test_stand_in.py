"""A data set that is absent: an embedded one stands in where the sweep names one, and says so."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from tests.conftest import RunCli

SWEEP = """
from orchestrator import Rigor, Sweep
from trainables.lenet import LeNetConfig, lenet

SWEEP = Sweep(
    lenet,
    question="?",
    space=LeNetConfig(data_path="resident", batch_size=512),
    baseline=LeNetConfig(data_path="resident", batch_size=512),
    epochs=1,
    data="mnist",
    embedded_data="digits",
    rigor=Rigor(confirm=0, max_repeats=1, retries=0),
)
"""


@pytest.mark.slow
def test_the_embedded_set_is_named_first_and_in_every_row(run_cli: RunCli, tmp_path: Path) -> None:
    out, sweep_file = tmp_path / "run", tmp_path / "absent.py"
    sweep_file.write_text(SWEEP)
    done = run_cli(
        sweep_file, "--out", out, "--data-root", tmp_path / "root", "--executor", "inline",
        "--no-mlflow", "--isolation", "shared",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    said = "mnist is not under root; running on digits instead, which is not the same data"
    first, second = done.stderr.splitlines()[:2]
    assert first == f"NOTE: {said}."
    assert "To get mnist: --download" in second
    assert said in "\n".join(done.stdout.splitlines()[-10:]), "said again at the end"
    trials = pd.read_parquet(out / "trials.parquet")
    assert trials["state"].tolist() == ["completed"]
    assert trials["data"].tolist() == ["digits"]
