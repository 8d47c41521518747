"""A fork server imports from the same folders, in the same order, as what has started it."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from orchestrator.execution.process.fork_servers import ForkServers
from orchestrator.system.import_path import make_importable
from tests.orchestrator.execution.process.serving import forked

SAYS_WHERE = "from pathlib import Path\nPath({told!r}).write_text(__file__)\n"


def test_the_root_comes_first_and_the_sweeps_own_folder_last(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root, own, told = tmp_path / "root", tmp_path / "root/sweeps", tmp_path / "told"
    own.mkdir(parents=True)
    (root / ".git").touch()
    told.mkdir()
    # One at the root, one in a folder called like ours, one beside the sweep; and beside it one
    # that is called like an installed module.
    for place in ("at_root", "trainables/in_folder", "sweeps/beside_it", "sweeps/optuna"):
        file = root / f"{place}.py"
        file.parent.mkdir(exist_ok=True)
        file.write_text(SAYS_WHERE.format(told=str(told / file.stem)))
    monkeypatch.setattr("sys.path", list(sys.path))
    monkeypatch.setattr("sys.meta_path", list(sys.meta_path))
    make_importable(own / "question.py")
    servers = ForkServers()
    try:
        modules = ("at_root", "trainables.in_folder", "beside_it", "optuna.distributions")
        with forked(servers.socket_for("tuned", modules), tmp_path) as process:
            assert process.pid
    finally:
        servers.close()
    assert {path.name: path.read_text() for path in told.iterdir()} == {
        "at_root": str(root / "at_root.py"),
        "in_folder": str(root / "trainables/in_folder.py"),
        "beside_it": str(own / "beside_it.py"),
    }
