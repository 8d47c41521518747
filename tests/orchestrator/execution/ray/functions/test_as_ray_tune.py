"""Functions and classes of Ray Tune have the same state and reports through ``from_ray``."""

from __future__ import annotations

import copy
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from orchestrator import from_ray, maximize
from tests.conftest import ROOT
from tests.orchestrator.execution.ray.functions.as_ray_tune import CONFIG, FUNCTIONS, wrapped
from tests.orchestrator.execution.ray.functions.trials import trained

CASES: dict[str, tuple[Any, dict[str, float]]] = {
    **{name: (function, {}) for name, function in FUNCTIONS.items()},
    **wrapped(),
}


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """State and reports of all under plain Ray Tune, in a process of its own."""
    file = tmp_path_factory.mktemp("plain") / "found.json"
    command = [sys.executable, "-m", "tests.orchestrator.execution.ray.functions.as_ray_tune", file]
    done = subprocess.run(
        command, cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True,
        text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    found: dict[str, Any] = json.loads(file.read_text())
    return found


@pytest.mark.slow
@pytest.mark.alone
@pytest.mark.timeout(300)
@pytest.mark.parametrize("name", CASES)
def test_the_state_and_the_reports_are_those_of_ray_tune(
    name: str, plain: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    function, stop = CASES[name]
    config = copy.deepcopy(CONFIG)
    trainable = from_ray(function, config=config, reports=[maximize("score")], stop=stop)
    state = "completed"
    try:
        trained(trainable, folder=tmp_path)
    except (Exception, SystemExit):  # noqa: BLE001 - as a trial's process does
        state = "failed"
    reports = trained.reports  # type: ignore[attr-defined]
    expected_state, expected = plain[name]
    assert state == expected_state
    assert reports == [pytest.approx(each) for each in expected]
