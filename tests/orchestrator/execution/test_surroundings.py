"""Sweeps on nodes where cores cannot be leased, or with more cores than there are."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from orchestrator.execution.leases import trial_cores
from tests.conftest import RunCli
from tests.orchestrator.execution import unbindable

SWEEP = """
from orchestrator import Rigor, Sweep, choice
from tests.orchestrator.execution.greedy import Config, greedy

SWEEP = Sweep(greedy, question="?", space=Config(duration_s=choice(0.05, 0.1)),
              baseline=Config(duration_s=0.05), cores_per_trial=1,
              rigor=Rigor(confirm=0, max_repeats=1, check_isolated=0))
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("module", "arguments", "leases", "note", "isolation"),
    [
        pytest.param(
            "orchestrator", [], "/sys/sweep-cores",
            "cores cannot be leased: Operation not permitted: /sys/sweep-cores", "shared",
            id="no permission to write the lock folder",
        ),
        pytest.param(
            "tests.orchestrator.execution.unbindable", [], "leases",
            "cores cannot be leased: processes cannot be bound to them: Operation not permitted",
            "shared", id="no permission to set affinity",
            marks=pytest.mark.skipif(not unbindable.AVAILABLE, reason="an x86-64 filter"),
        ),
        pytest.param(
            "orchestrator", ["--cores-per-trial", "4096"], "leases",
            "4096 cores a trial are asked for: every trial gets the whole node", "leased",
            id="more cores than the node has",
        ),
    ],
)  # fmt: skip
def test_one_note_is_printed_and_every_trial_runs(
    run_cli: RunCli,
    tmp_path: Path,
    module: str,
    arguments: list[str],
    leases: str,
    note: str,
    isolation: str,
) -> None:
    (tmp_path / "around.py").write_text(SWEEP)
    done = run_cli(
        "around.py", *arguments, "--executor", "inline", "--no-mlflow", "--out", "run",
        module=module, env={"SWEEP_LEASES": str(tmp_path / leases)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    lines = (done.stdout + done.stderr).splitlines()
    assert len([line for line in lines if note[:60] in line]) == 1, done.stdout
    assert note in " ".join(done.stdout.split())
    trials = pd.read_parquet(tmp_path / "run/trials.parquet")
    assert set(trials["state"]) == {"completed"}
    assert set(trials["isolation"]) == {isolation}
    assert set(trials["cores"]) == {len(trial_cores()) if arguments else 1}
    assert trials["tags.contaminated"].isna().all() == (isolation == "shared")
