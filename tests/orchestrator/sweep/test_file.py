"""A sweep file is found, and run afresh as a module of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import ray

from orchestrator.repository import PROJECT
from orchestrator.space.configs import domains_of
from orchestrator.sweep.loading import load_sweep
from tests.conftest import ROOT
from tests.orchestrator.sweep.refusals import refusal
from tests.orchestrator.sweep_files import GOOD, written


def changed(path: Path, old: str, new: str) -> Path:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))
    return path


def test_a_file_may_use_what_lies_beside_it(tmp_path: Path) -> None:
    (tmp_path / "beside_it.py").write_text("LEAST = 0.01\n")
    path = written(tmp_path, "from beside_it import LEAST\n" + GOOD.replace("0.01", "LEAST"))

    assert domains_of(load_sweep(path).space)["lr"].bounds() == (0.01, 1)


def test_a_file_may_be_named_like_a_module(tmp_path: Path) -> None:
    path = written(tmp_path, name="json.py")

    sweep = load_sweep(path)

    assert sweep.trainable.train.__module__ == "sweep_file_json"
    assert "digits" in sys.modules["json"].dumps(["digits"])
    assert sys.path[0] != str(tmp_path)  # or every later import of json would find the sweep


def test_what_a_file_defines_can_be_imported_by_another_process(tmp_path: Path) -> None:
    path = written(tmp_path, name="importable.py")
    train = load_sweep(path).trainable.train
    code = f"import {train.__module__} as m; print(m.{train.__qualname__}.__module__)"
    env = {**os.environ, "PYTHONPATH": f"{Path.cwd()}:{tmp_path}"}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=env, check=True
    )

    assert done.stdout == "importable\n"


def test_a_file_is_run_afresh_each_time(tmp_path: Path) -> None:
    path = written(tmp_path)
    first = load_sweep(path)
    second = load_sweep(changed(path, "epochs=2", "epochs=3"))

    assert (first.epochs, second.epochs) == (2, 3)
    assert "epochs=4" in refusal(changed(path, "epochs=3", "epochs=4 / 0")).message


def test_a_missing_file_names_the_nearest(tmp_path: Path) -> None:
    written(tmp_path, name="products_loader.py")
    written(tmp_path, name="mnist.py")
    error = refusal(tmp_path / "product_loader.py")

    assert error.message.endswith(
        "product_loader.py: no such file; did you mean 'products_loader.py'?"
    )
    assert error.hint == f"in {tmp_path}: mnist.py, products_loader.py"
    assert "there is no folder" in refusal(tmp_path / "nowhere" / "a.py").message
    (tmp_path / "empty").mkdir()
    assert "there is no .py file in" in refusal(tmp_path / "empty" / "a.py").hint


def test_a_folder_or_another_kind_of_file_is_refused(tmp_path: Path) -> None:
    written(tmp_path)
    (tmp_path / "notes.txt").write_text("SWEEP")

    assert refusal(tmp_path).message == f"{tmp_path} is a folder, not a sweep file"
    assert refusal(tmp_path).hint == f"in {tmp_path}: my_sweep.py"
    assert refusal(tmp_path / "notes.txt").message.endswith("notes.txt is not a Python file")


def test_a_file_that_is_no_text_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "binary.py"
    path.write_bytes(b"SWEEP = '\xff\xfe'\n")
    assert "cannot be read" in refusal(path).message


def test_the_project_and_not_its_package_is_what_a_file_imports_from(tmp_path: Path) -> None:
    load_sweep(written(tmp_path))
    assert PROJECT == ROOT
    assert str(ROOT) in sys.path
    assert str(ROOT / "orchestrator") not in sys.path


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
        "ray.init()", "ray.put(1)", "task.remote()",
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
