"""A few cases of each campaign of bad input: the programs run, and find nothing wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import RunCli

CAMPAIGNS = {
    "bad_requests": ["--num", "6"],
    "damaged_data": ["--num", "4", "--sets", "2"],
    "damaged_runs": ["--journals", "3", "--records", "2", "--tables", "2"],
}


@pytest.mark.slow
@pytest.mark.parametrize("campaign", CAMPAIGNS)
def test_nothing_goes_wrong(run_cli: RunCli, tmp_path: Path, campaign: str) -> None:
    module = f"benchmarks.reliability.{campaign}"
    done = run_cli(*CAMPAIGNS[campaign], module=module, cwd=tmp_path, fresh=True)
    assert done.returncode == 0, done.stderr
    assert f"- command: `python -m {module}" in done.stdout
    assert " | rounds | " in done.stdout
