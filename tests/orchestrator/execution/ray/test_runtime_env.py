"""Code that is shipped to a cluster: what the sweep has imported and no node has installed."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from importlib import import_module, invalidate_caches
from pathlib import Path

import pytest

from orchestrator.execution.ray.runtime_env import (
    SHIPPED,
    runtime_environment,
    use_token_if_there_is_one,
)


@pytest.fixture
def sweeps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder with a sweep file, a module and a package that it imports, and one it does not."""
    folder = tmp_path / "sweeps"
    (folder / "steps_package/inner").mkdir(parents=True)
    (folder / "steps_package/__init__.py").write_text("")
    (folder / "steps_package/inner/deep.py").write_text("DEEP = 1\n")
    (folder / "steps_package/data.bin").write_text("no code")
    (folder / "steps_package/inner/model.yaml").write_text("layers: 3")
    (folder / "steps_package/table.csv").write_bytes(bytes(2**20 + 1))
    (folder / "steps_package/.venv").mkdir()
    (folder / "steps_package/.venv/hidden.py").write_text("")
    (folder / "of_the_sweep.yaml").write_text("steps: 1")
    (folder / "steps_beside.py").write_text("STEPS = 1\n")
    (folder / "steps_unused.py").write_text("UNUSED = 1\n")
    (folder / "the_sweep.py").write_text("import steps_beside, steps_package\n")
    monkeypatch.syspath_prepend(str(folder))
    before = set(sys.modules)
    invalidate_caches()
    import_module("steps_beside")
    import_module("steps_package")
    yield folder
    for name in set(sys.modules) - before:
        del sys.modules[name]


@pytest.fixture
def shipped(sweeps: Path, tmp_path: Path) -> set[str]:
    """Paths of the files that are shipped with the sweep file."""
    stage = tmp_path / "stage"
    environment = runtime_environment(sweeps / "the_sweep.py", stage)
    assert environment == {"working_dir": str(stage)}
    return {str(path.relative_to(stage)) for path in stage.rglob("*") if path.is_file()}


def test_the_orchestrator_is_shipped(shipped: set[str]) -> None:
    assert {"orchestrator/__init__.py", "orchestrator/execution/ray/actors.py"} <= shipped


def test_imported_modules_and_packages_are_shipped_where_imports_find_them(
    shipped: set[str],
) -> None:
    expected = {"steps_beside.py", "steps_package/__init__.py", "steps_package/inner/deep.py"}
    assert expected <= shipped
    assert "steps_unused.py" not in shipped


def test_the_sweep_files_folder_is_shipped_apart_from_them(shipped: set[str]) -> None:
    files = {"the_sweep.py", "steps_beside.py", "steps_unused.py", "of_the_sweep.yaml"}
    assert {path for path in shipped if path.startswith(f"{SHIPPED}/")} == {
        f"{SHIPPED}/{name}" for name in files
    }


def test_nothing_is_shipped_that_is_installed_or_data(shipped: set[str]) -> None:
    of_package = {path for path in shipped if path.startswith("steps_package/")}
    assert of_package == {
        f"steps_package/{name}" for name in ("__init__.py", "inner/deep.py", "inner/model.yaml")
    }
    assert not {"pytest.py", "pytest/__init__.py", "torch/__init__.py"} & shipped


@pytest.mark.parametrize(
    ("variables", "mode"),
    [
        ({}, None),
        ({"HOME": f"/{'x' * 300}"}, None),
        ({"HOME": "{folder}"}, "token"),
        ({"RAY_AUTH_TOKEN_PATH": "{folder}/.ray/auth_token"}, "token"),
        ({"RAY_AUTH_TOKEN": "secret", "RAY_AUTH_MODE": "disabled"}, "disabled"),
    ],
)
def test_a_token_is_used_unless_the_user_has_set_a_mode(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], mode: str | None
) -> None:
    (tmp_path / ".ray").mkdir()
    (tmp_path / ".ray/auth_token").write_text("secret")
    for name in ("RAY_AUTH_MODE", "RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH", "HOME"):
        monkeypatch.setenv(name, "")  # so that it is as before after the test
        monkeypatch.delenv(name)
    for name, value in variables.items():
        monkeypatch.setenv(name, value.format(folder=tmp_path))
    use_token_if_there_is_one()
    assert os.environ.get("RAY_AUTH_MODE") == mode
