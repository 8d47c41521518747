from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from orchestrator.provenance.environment import environment, git_state, versions


def test_the_environment_is_plain_json_and_has_versions_and_hardware() -> None:
    surroundings = environment(Path("sweeps/any.py"))

    assert json.loads(json.dumps(surroundings)) == surroundings
    assert {"python", "torch", "dgl", "ray", "mlflow", "numpy"} <= set(surroundings["versions"])
    hardware = surroundings["hardware"]
    assert hardware["cpu_model"]
    assert 1 <= hardware["num_cores"] <= (os.cpu_count() or 1)
    assert hardware["memory_gib"] > 0.1
    assert all(isinstance(gpu, str) for gpu in hardware["gpus"])


def test_versions_are_found_without_importing() -> None:
    code = (
        "import sys; from orchestrator.provenance.environment import versions; v = versions(); "
        "print(v['torch'], [m for m in ('torch', 'ray', 'numpy') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout == f"{versions()['torch']} []\n"


def git(folder: Path, *arguments: str) -> str:
    name = ("-c", "user.name=a", "-c", "user.email=a@b.invalid")
    done = subprocess.run(
        ["git", *name, *arguments], cwd=folder, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def test_the_commit_and_a_dirty_tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    inner = tmp_path / "sweeps"
    inner.mkdir()
    assert git_state(inner) is None

    git(tmp_path, "init", "--quiet")
    assert git_state(inner) == {"commit": "", "dirty": False}
    (inner / "a.py").write_text("x")
    assert git_state(inner) == {"commit": "", "dirty": True}
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "--quiet", "-m", "all")
    assert git_state(inner) == {"commit": git(tmp_path, "rev-parse", "HEAD"), "dirty": False}
    (inner / "a.py").write_text("y")
    assert (git_state(inner) or {})["dirty"] is True


def test_without_git_there_is_no_commit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))

    assert git_state(tmp_path) is None
    assert environment(tmp_path / "a.py")["git"] is None
