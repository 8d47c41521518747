"""``make test CHANGED=yes``: the tests that depend on what has changed."""

from __future__ import annotations

import subprocess
from pathlib import Path

from tests.changed import ABOUT_FILES, changed_files, dependents


def test_a_module_s_tests_and_those_of_its_importers_depend_on_it() -> None:
    found = dependents(["trainables/lenet.py"])
    assert {"tests/trainables/test_lenet.py", "tests/trainables/test_contract.py"} <= found
    assert "tests/orchestrator/test_metrics.py" not in found


def test_who_runs_the_program_depends_on_what_the_program_imports() -> None:
    found = dependents(["orchestrator/analysis/report/templates/report.html.j2"])
    assert "tests/orchestrator/driver/whole_runs/test_resumed.py" in found
    assert "tests/orchestrator/analysis/report/test_page.py" in found
    assert "tests/trainables/graph/test_layers.py" not in found


def test_documents_have_tests_as_well() -> None:
    assert dependents(["docs/install.md"]) == set(ABOUT_FILES)


def test_what_is_committed_edited_or_new_has_changed(tmp_path: Path) -> None:
    def git(*arguments: str) -> None:
        identity = ("-c", "user.name=a", "-c", "user.email=a@b")
        subprocess.run(["git", *identity, *arguments], cwd=tmp_path, check=True)

    git("init", "--quiet", "--initial-branch=main")
    for name in ("same.py", "edited.py"):
        (tmp_path / name).touch()
    git("add", ".")
    git("commit", "--quiet", "-m", "first")
    git("update-ref", "refs/remotes/origin/main", "HEAD")
    (tmp_path / "committed.py").touch()
    git("add", ".")
    git("commit", "--quiet", "-m", "second")
    (tmp_path / "edited.py").write_text("1")
    (tmp_path / "new.py").touch()
    assert changed_files(tmp_path) == {"committed.py", "edited.py", "new.py"}
