"""``.ci/run``: only what failed runs once more, and both outcomes are reported."""

import os
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

from tests.changed import ABOUT_FILES, changed_files, dependents
from tests.conftest import ROOT


def ci(folder: Path, make: str, **variables: str) -> tuple[int, list[str]]:
    """Run it in a folder, with a ``make`` of that text; return its exit code and its lines."""
    programs = folder / "programs"
    for name in (".ci", programs):
        (folder / name).mkdir()
    shutil.copy(ROOT / ".ci/run", folder / ".ci/run")
    # Whatever is missing here, it installs nothing.
    for name, text in (("make", make), ("apt-get", "#!/bin/sh\n")):
        (programs / name).write_text(text)
        (programs / name).chmod(0o755)
    # An inner pytest must not take itself for a worker of this one.
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    path = f"{programs}:{os.environ['PATH']}"
    done = subprocess.run(
        [folder / ".ci/run"], capture_output=True, text=True, check=False,
        env={**kept, "PATH": path, **variables},
    )  # fmt: skip
    return done.returncode, done.stdout.splitlines()


REAL_TESTS = """#!/bin/sh
[ "$1" = test ] || exit 0
exec {make} "$@" SHARED="--numprocesses 1 --dist worksteal"
"""

FAILS_ONCE = """
from pathlib import Path
import pytest

RAN = Path("ran")

def test_that_fails_at_first():
    note = RAN.read_text() if RAN.exists() else ""
    RAN.write_text(note + "failing ")
    assert "failing" in note

def test_beside_it():
    RAN.write_text(RAN.read_text() + "beside ")

@pytest.mark.alone
def test_of_the_other_half():
    RAN.write_text(RAN.read_text() + "other ")
"""


def test_only_what_failed_is_run_once_more(tmp_path: Path) -> None:
    """The real Makefile and pytest. The other half, in which nothing failed, is not run again."""
    for name, text in {
        "requirements.lock": "",
        ".venv/.installed": "",
        ".venv/bin/python": f'#!/bin/sh\nexec {sys.executable} "$@"\n',
        "pytest.ini": "[pytest]\nmarkers =\n    slow\n    alone\n",
        "test_once.py": FAILS_ONCE,
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    (tmp_path / ".venv/bin/python").chmod(0o755)
    os.utime(tmp_path / "requirements.lock", (0, 0))  # so it is installed
    shutil.copy(ROOT / "Makefile", tmp_path)

    code, lines = ci(tmp_path, REAL_TESTS.format(make=shutil.which("make")))

    assert code == 0, lines
    ran = Counter((tmp_path / "ran").read_text().split())
    assert ran == {"failing": 2, "beside": 1, "other": 1}
    start = lines.index("== failed in a first run, and was run once more:")
    assert lines[start + 1].startswith("FAILED test_once.py::test_that_fails_at_first")
    assert lines[start + 2].startswith("== closing lines")
    assert "1 failed" in lines[start + 3]


# -- ``make test CHANGED=yes``


def test_a_module_s_tests_and_those_of_its_importers_depend_on_it() -> None:
    found = dependents(["trainables/lenet.py"])
    assert {"tests/trainables/test_lenet.py", "tests/trainables/test_contract.py"} <= found
    assert "tests/orchestrator/test_metrics.py" not in found


def test_tests_of_the_program_depend_on_what_it_imports() -> None:
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
