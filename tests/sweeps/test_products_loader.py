from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

from tests.conftest import ROOT, RunCli
from tests.trainables.data.conftest import copied


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_on_a_real_graph_the_recommended_config_is_accurate(
    run_cli: RunCli, test_data: Path, tmp_path: Path
) -> None:
    copied(test_data / "ogb" / "ogbn_products", tmp_path / "ogb" / "ogbn_products")
    done = run_cli(
        ROOT / "sweeps" / "products_loader.py", "--data-root", tmp_path / "ogb", "--out", "run",
        "--isolation", "shared", "--no-mlflow", timeout_s=900,
    )  # fmt: skip

    assert done.returncode == 0, done.stderr
    trials = pd.read_csv(tmp_path / "run" / "trials.csv")
    assert set(trials["state"]) == {"completed"}
    assert set(trials["data"]) == {"ogbn-products"}
    assert set(trials["params.num_workers"]) == {0, 3, 6, 8}
    recommended = json.loads((tmp_path / "run" / "recommended.json").read_text())
    assert recommended["test_acc"] >= 0.93
