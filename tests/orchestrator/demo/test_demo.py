"""``python -m orchestrator demo``: a recorded sweep, replayed by a stranger without torch."""

import json
import time
from pathlib import Path

from tests.conftest import RunCli

NONE = "raise ImportError('a replay trains nothing')\n"


def test_the_demo_answers_within_a_minute_without_torch(run_cli: RunCli, tmp_path: Path) -> None:
    for name in ("torch", "ray"):
        (tmp_path / f"{name}.py").write_text(NONE)
    began = time.monotonic()
    done = run_cli("demo", fresh=True, env={"BROWSER": "true"})
    assert time.monotonic() - began < 60
    (run_dir,) = (tmp_path / "runs/demo").iterdir()
    assert f"{run_dir.relative_to(tmp_path)}/report.html" in done.stdout.splitlines()[-1]
    answer = json.loads((run_dir / "recommended.json").read_text())
    assert answer["status"] == "confirmed"
    assert answer["config"] == {"lr": 0.02, "batch_size": 2000, "num_workers": 0}
    assert f"demo: {answer['sentence']}" in done.stdout
    assert "nothing was measured" in done.stdout
