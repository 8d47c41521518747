"""Code that is shipped to a cluster: modules that the sweep imports and no node has installed."""

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

FILES = {
    "steps_package/__init__.py": "",
    "steps_package/inner/deep.py": "DEEP = 1",
    "steps_package/inner/model.yaml": "layers: 3",
    "steps_package/data.bin": "no code",
    "steps_package/table.csv": "x" * (2**20 + 1),
    "steps_package/.venv/hidden.py": "",
    "of_the_sweep.yaml": "steps: 1",
    "steps_beside.py": "STEPS = 1",
    "steps_unused.py": "UNUSED = 1",
    "the_sweep.py": "import steps_beside, steps_package",
}


@pytest.fixture
def shipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[set[str]]:
    """Paths of the files that are shipped with a sweep file, which imports two of its folder."""
    folder, stage = tmp_path / "sweeps", tmp_path / "stage"
    for name, text in FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    monkeypatch.syspath_prepend(str(folder))
    before = set(sys.modules)
    invalidate_caches()
    import_module("steps_beside")
    import_module("steps_package")
    assert runtime_environment(folder / "the_sweep.py", stage) == {"working_dir": str(stage)}
    yield {str(path.relative_to(stage)) for path in stage.rglob("*") if path.is_file()}
    for name in set(sys.modules) - before:
        del sys.modules[name]


def test_code_and_its_settings_are_shipped_and_what_is_installed_is_not(shipped: set[str]) -> None:
    assert {"orchestrator/__init__.py", "orchestrator/execution/ray/actors.py"} <= shipped
    of_sweep = {name for name in shipped if "orchestrator" not in name and "trainables" not in name}
    own = {name for name in of_sweep if name.startswith(("steps", f"{SHIPPED}/"))}
    files = ("the_sweep.py", "steps_beside.py", "steps_unused.py", "of_the_sweep.yaml")
    assert own == {
        "steps_beside.py",
        "steps_package/__init__.py",
        "steps_package/inner/deep.py",
        "steps_package/inner/model.yaml",
        *(f"{SHIPPED}/{name}" for name in files),
    }
    assert not {"pytest.py", "pytest/__init__.py", "torch/__init__.py"} & shipped


@pytest.mark.parametrize(
    ("variables", "mode"),
    [
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
