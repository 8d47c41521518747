import json
import os
import platform
from pathlib import Path

import pytest

from orchestrator.provenance.environment import (
    TIMED_PACKAGES,
    clock_policy,
    environment,
    git_state,
    node_tags,
    versions,
)
from tests.helping import python, ran


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
    done = python("-c", code)

    assert done.stdout == f"{versions()['torch']} []\n"


def git(folder: Path, *arguments: str) -> str:
    name = ("-c", "user.name=a", "-c", "user.email=a@b.invalid")
    done = ran("git", *name, *arguments, cwd=folder)
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


def test_a_row_names_what_it_was_measured_on() -> None:
    tags = node_tags()
    assert tags["cpu_model"]
    assert f"python {platform.python_version()}" in tags["versions"]
    assert all(name in TIMED_PACKAGES for name in tags["versions"].split()[::2])


@pytest.mark.parametrize(
    ("files", "policy"),
    [
        ({}, ""),
        ({"cpu0/cpufreq/scaling_governor": "powersave"}, "powersave"),
        (
            {"cpu0/cpufreq/scaling_governor": "performance", "intel_pstate/no_turbo": "1"},
            "performance, turbo off",
        ),
        ({"cpufreq/boost": "1"}, "turbo on"),
    ],
)
def test_the_clock_policy_is_what_the_kernel_reports(
    tmp_path: Path, files: dict[str, str], policy: str
) -> None:
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(f"{text}\n")
    assert clock_policy(tmp_path) == policy
