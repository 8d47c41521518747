"""Test files that depend on what has changed: ``python -m tests.changed``.

Changed files differ from the commit at which this branch left ``origin/main``, or are not tracked
by git yet. A test depends on what it imports, directly or not, and on each ``conftest.py`` above
it; a test that runs the program depends on all that the program imports.
"""

import subprocess
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("orchestrator", "trainables", "sweeps", "benchmarks", "tests")
RUNNERS = {"run_cli", "start_cli", "finished_run", "copied_run"}
"""Fixtures that run the program."""

ABOUT_FILES = ("tests/test_documents.py", "tests/test_repository.py", "tests/test_ci.py")
"""Tests of files that are not Python."""


def changed_files(root: Path) -> set[str]:
    """Return the changed files, relative to the root of a checkout."""
    base = _git(root, "merge-base", "HEAD", "origin/main") or ["HEAD"]
    others = _git(root, "ls-files", "--others", "--exclude-standard")
    return {*_git(root, "diff", "--name-only", base[0]), *others}


def _git(root: Path, *arguments: str) -> list[str]:
    done = subprocess.run(
        ["git", *arguments], cwd=root, capture_output=True, text=True, check=False
    )
    return done.stdout.split("\n")[:-1] if done.returncode == 0 else []


def dependents(changed: Iterable[str]) -> set[str]:
    """Return the test files that depend on files, all of them relative to the checkout."""
    import grimp

    graph = grimp.build_graph(*PACKAGES, cache_dir=None)
    for path in (ROOT / "tests").rglob("test_*.py"):
        name, text = _module(path.relative_to(ROOT)), path.read_text()
        if any(runner in text for runner in RUNNERS):
            graph.add_import(importer=name, imported="orchestrator.__main__")
        for folder in path.relative_to(ROOT).parents:
            if (conftest := _module(folder / "conftest.py")) in graph.modules:
                graph.add_import(importer=name, imported=conftest)
    affected: set[str] = set()
    for file in map(Path, changed):
        if file.suffix != ".py" or file.parts[0] not in PACKAGES:
            affected |= set(map(_module, map(Path, ABOUT_FILES)))
        for module in _modules_of(file) & graph.modules:
            affected |= {module} | graph.find_downstream_modules(module)
    tests = {Path(*name.split(".")).with_suffix(".py") for name in affected}
    return {str(path) for path in tests if path.name.startswith("test_")}


def _module(path: Path) -> str:
    return ".".join(path.with_suffix("").parts).removesuffix(".__init__")


def _modules_of(file: Path) -> set[str]:
    """Return a Python file's module, or the modules in the nearest folder of another file."""
    if file.suffix == ".py":
        return {_module(file)}
    for folder in file.parents:
        if modules := {_module(path.relative_to(ROOT)) for path in (ROOT / folder).glob("*.py")}:
            return modules
    return set()


if __name__ == "__main__":
    found = dependents(changed_files(ROOT))
    print("\n".join(sorted(path for path in found if (ROOT / path).exists())))
