"""The code's shape: file sizes, long functions, folders, circles, spread of features.

    python -m benchmarks.code_shape                     # this project's packages
    python -m benchmarks.code_shape --root /tmp/before  # the packages of another checkout
    python -m benchmarks.code_shape --peers optuna      # and packages that are installed

Lines are counted as ``wc -l`` counts them. After the packages come the folders of ``orchestrator``,
and for each feature the number of other files that name it.

Only the source is read; nothing is imported. An import counts wherever it is: in a function,
and under ``TYPE_CHECKING`` as well. A package is in no circle with its modules: importing
``a.b`` runs ``a/__init__.py``, but no reader follows that arrow.
"""

from __future__ import annotations

import argparse
import ast
import importlib.util
import statistics
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import Final

from benchmarks.features import feature_lines
from benchmarks.harness import ROOT
from orchestrator.arguments import Parser

PACKAGES: Final = ("orchestrator", "trainables", "sweeps", "benchmarks")
MOST_FILES: Final = 20
"""Files of a folder."""
MOST_OF_A_NAME: Final = 3
"""Files of one name in the packages, ``__init__.py`` aside."""
LONG_FUNCTION: Final = 40
"""Lines from ``def`` to the last statement, docstring included."""


@dataclass(frozen=True, kw_only=True)
class Module:
    """One source file.

    Attributes:
        name: Dotted name.
        folder: Dotted name of its package.
        num_lines: Lines, blank ones and comments included.
        tree: Its syntax tree.
        is_package: True for a package's ``__init__``.
    """

    name: str
    folder: str
    num_lines: int
    tree: ast.Module
    is_package: bool


def read_package(package: str, folder: Path) -> list[Module]:
    """Read every module of a package."""
    modules = []
    for path in sorted(folder.rglob("*.py")):
        parts = (package, *path.relative_to(folder).with_suffix("").parts)
        text = path.read_text(encoding="utf-8")
        is_package = parts[-1] == "__init__"
        modules.append(
            Module(
                name=".".join(parts[:-1] if is_package else parts),
                folder=".".join(parts[:-1]),
                num_lines=text.count("\n"),
                tree=ast.parse(text),
                is_package=is_package,
            )
        )
    return modules


def long_functions(modules: Sequence[Module]) -> list[tuple[int, str]]:
    """Functions of more than :data:`LONG_FUNCTION` lines, as lines and name, longest first."""
    found = []
    for module in modules:
        for node in ast.walk(module.tree):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                num_lines = (node.end_lineno or node.lineno) - node.lineno + 1
                if num_lines > LONG_FUNCTION:
                    found.append((num_lines, f"{module.name}.{node.name}"))
    return sorted(found, reverse=True)


def import_graph(modules: Sequence[Module]) -> dict[str, set[str]]:
    """Which of the given modules each module imports; packages' own files left out."""
    packages = {module.folder for module in modules}
    names = {module.name for module in modules} - packages
    return {
        module.name: {
            found for found in _imports(module) if found in names and found != module.name
        }
        for module in modules
        if module.name in names
    }


def _imports(module: Module) -> Iterator[str]:
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                above = module.folder.split(".")[: len(module.folder.split(".")) - node.level + 1]
                base = ".".join([*above, *([base] if base else [])])
            yield base
            yield from (f"{base}.{alias.name}" for alias in node.names)


def num_circles(graph: Mapping[str, set[str]]) -> int:
    """Import circles, counted by breaking one arrow of each in turn."""
    left = {name: set(targets) for name, targets in graph.items()}
    count = 0
    while True:
        try:
            TopologicalSorter(left).prepare()
        except CycleError as error:
            circle: list[str] = error.args[1]
            # the sorter lists predecessors: each one is imported by the next
            left[circle[1]].discard(circle[0])
            count += 1
        else:
            return count


def row(package: str, modules: Sequence[Module]) -> str:
    """A package's row of the table."""
    sizes = sorted(module.num_lines for module in modules)
    largest_folder, num_files = Counter(module.folder for module in modules).most_common(1)[0]
    cells = (
        package,
        f"{len(modules)}",
        f"{sum(sizes):,}",
        f"{statistics.median(sizes):.0f}",
        f"{sizes[-1]}",
        f"{len(long_functions(modules))}",
        f"{num_files} ({largest_folder})",
        f"{num_circles(import_graph(modules))}",
    )
    return "| " + " | ".join(cells) + " |"


HEADER: Final = (
    "| package | files | lines | median file | largest file | functions past 40 lines "
    "| largest folder | import circles |\n"
    "| --- | --- | --- | --- | --- | --- | --- | --- |"
)


def folder_lines(package: str, modules: Sequence[Module]) -> Iterator[str]:
    """Yield a table of a package's folders, what lies deeper included."""
    num_files, num_lines = Counter[str](), Counter[str]()
    for module in modules:
        deeper = module.folder.split(".")[1:2]
        folder = "/".join([package, *deeper])
        num_files[folder] += 1
        num_lines[folder] += module.num_lines
    yield "| folder | files | lines |"
    yield "| --- | --- | --- |"
    for folder in sorted(num_files):
        yield f"| {folder} | {num_files[folder]} | {num_lines[folder]:,} |"


def limit_lines(modules: Sequence[Module]) -> Iterator[str]:
    """Yield the folders and file names that are past their limits."""
    own = [module for module in modules if not module.is_package]
    folders = Counter(module.folder for module in own)
    names = Counter(module.name.rpartition(".")[2] for module in own)
    names.pop("__main__", None)
    for what, counts, most in (
        (f"folders of more than {MOST_FILES} files", folders, MOST_FILES),
        (f"file names used more than {MOST_OF_A_NAME} times", names, MOST_OF_A_NAME),
    ):
        past = [f"{name} ({count})" for name, count in counts.most_common() if count > most]
        yield f"{what}: {', '.join(past) or 'none'}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the tables, and what is past its bounds; return the exit code."""
    parser = Parser(prog="python -m benchmarks.code_shape", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument(
        "--peers", nargs="*", default=[], metavar="PACKAGE", help="installed packages"
    )
    parser.add_argument("--list", action="store_true", help="list long functions, too")
    parser.add_argument("--root", type=Path, default=ROOT, help="another checkout")
    options = parser.parse_args(arguments)
    print(HEADER)
    read = {name: read_package(name, options.root / name) for name in (*PACKAGES, "tests")}
    for package, modules in read.items():
        print(row(package, modules))
        for num_lines, name in long_functions(modules) if options.list else ():
            print(f"  {num_lines} lines: {name}")
    for package in options.peers:
        spec = importlib.util.find_spec(package)
        if spec is None or not spec.submodule_search_locations:
            sys.stderr.write(f"error: no package {package} is installed\n")
            return 2
        print(row(package, read_package(package, Path(spec.submodule_search_locations[0]))))
    print("\n".join(["", *folder_lines("orchestrator", read["orchestrator"]), ""]))
    print("\n".join(limit_lines([each for name in PACKAGES for each in read[name]])))
    print("\n".join(["", *feature_lines(options.root / "orchestrator", with_files=options.list)]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
