"""A sweep file that would start Ray is refused before it does, and may import it all the same."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest
import ray
from ray import tune

from orchestrator.sweep.file import run_sweep_file
from orchestrator.sweep.no_ray import refusing_ray
from tests.conftest import ROOT
from tests.orchestrator.sweep.refusals import refusal

BEFORE = """\
import ray
from ray import init, tune
def train(config):
    tune.report({"score": 1})
@ray.remote
def task():
    return 1
"""


@pytest.mark.parametrize(
    "call",
    [
        "ray.init()", "init(num_cpus=1, ignore_reinit_error=True)", "ray.put(1)", "ray.get([])",
        "task.remote()", "ray.remote(type('Actor', (), {})).remote()",
        "tune.run(train, config={'x': 1})",
        "tune.Tuner(train, run_config=tune.RunConfig(storage_path=FOLDER)).fit()",
    ],
)  # fmt: skip
def test_what_would_start_ray_is_refused_with_its_line(tmp_path: Path, call: str) -> None:
    path = tmp_path / "starts.py"
    path.write_text(f"{BEFORE}{call.replace('FOLDER', repr(str(tmp_path)))}\n")
    refused = refusal(path)
    assert refused.message.startswith(f"{path}:8: it starts Ray, or joins one")
    assert "under if __name__ == '__main__'" in refused.hint
    assert not ray.is_initialized()


def test_a_file_may_import_ray_and_what_it_has_taken_works_afterwards(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[object] = []
    monkeypatch.setattr(ray, "init", started.append)
    before = ray.init
    (tmp_path / "takes.py").write_text("from ray import init, tune\nSPACE = tune.uniform(0, 1)\n")
    module = run_sweep_file(tmp_path / "takes.py")
    assert ray.init is before
    module.init("here")
    assert started == ["here"]
    assert isinstance(module.SPACE, type(tune.uniform(0, 1)))


CODE = """
import importlib.util, sys
from pathlib import Path
from orchestrator.errors import SweepError
from orchestrator.sweep.loading import load_sweep

assert "ray" not in sys.modules, "it takes seconds to import"
try:
    load_sweep(Path(sys.argv[1]))
except SweepError as error:
    print(error.message.splitlines()[0])
import ray
assert not ray.is_initialized()
from ray._private.worker import init
assert ray.init is init
assert "no_ray" not in str([type(finder) for finder in sys.meta_path])
"""


def test_a_file_that_is_the_first_to_import_ray_is_refused_too(tmp_path: Path) -> None:
    """As are most: nothing that comes before needs it. Some libraries look for it, and no more."""
    path = tmp_path / "first.py"
    looked_for = "import importlib.util\nimportlib.util.find_spec('ray')"
    path.write_text(f"{looked_for}\nimport ray\nray.init()\n")
    done = subprocess.run(
        [sys.executable, "-c", CODE, path], capture_output=True, text=True, cwd=ROOT, check=False
    )
    assert done.stdout.startswith(f"{path}:4: it starts Ray"), done.stderr
    assert done.returncode == 0, done.stderr


def test_other_modules_are_found_as_ever() -> None:
    with refusing_ray():
        assert importlib.util.find_spec("json") is not None
        assert importlib.util.find_spec("no_such_module") is None
