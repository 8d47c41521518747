"""Promises of the repository: its documents, commands, examples and pinned environment."""

import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from benchmarks import agents
from tests.conftest import ROOT
from tests.helping import python, ran
from tests.orchestrator.helpers.in_process import run_main

PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
SWEEPS = sorted(path for path in (ROOT / "sweeps").glob("*.py") if path.stem != "__init__")


def named(paths: list[Path]) -> list[object]:
    """Test parameters, called by their paths."""
    return [pytest.param(path, id=str(path.relative_to(ROOT))) for path in paths]


# -- the pinned environment


def pins(text: str) -> dict[str, str]:
    """Version by package name; extras are left out."""
    return dict(re.findall(r"^([A-Za-z0-9_.-]+)(?:\[[^]]*\])?==(\S+)", text, re.MULTILINE))


def test_every_requirement_is_pinned_and_locked() -> None:
    wanted = (ROOT / "requirements.in").read_text()
    lines = [line for line in wanted.splitlines() if line.strip() and not line.startswith("#")]
    asked, locked = pins(wanted), pins((ROOT / "requirements.lock").read_text())
    assert len(asked) == len(lines)
    assert asked.items() <= locked.items()


def test_the_lock_contains_only_names_versions_and_hashes() -> None:
    entry = re.compile(
        r"[a-z0-9._-]+==\S+( ; [^\\]+)? \\\n(    --hash=sha256:[0-9a-f]{64}( \\)?\n)+"
    )
    assert re.sub(entry, "", (ROOT / "requirements.lock").read_text()) == ""


@pytest.fixture
def installed_checkout(tmp_path: Path) -> Path:
    """A folder with what make looks at, as it is after an installation."""
    for name in ("Makefile", "requirements.lock"):
        shutil.copy(ROOT / name, tmp_path)
    (tmp_path / ".venv").mkdir()
    (tmp_path / ".venv/.installed").touch()
    return tmp_path


def make(folder: Path, target: str) -> str:
    """Return the commands that ``make target`` would run."""
    done = ran(
        "make", "--dry-run", "--no-print-directory", target, cwd=folder,
        env={"PATH": os.environ["PATH"]},
    )  # fmt: skip
    return done.stdout


def test_the_second_make_installs_nothing(installed_checkout: Path) -> None:
    assert make(installed_checkout, "run").splitlines() == [
        ".venv/bin/python -m orchestrator sweeps/products_loader.py "
    ]
    assert (ROOT / "sweeps/products_loader.py").exists()
    lock = installed_checkout / "requirements.lock"
    later = (installed_checkout / ".venv/.installed").stat().st_mtime + 1
    os.utime(lock, (later, later))
    assert "uv pip sync" in make(installed_checkout, "test")


# -- the code


SMALL = 60
"""Lines up to which a module needs no test file: the tests of its users cover it."""

SHOWN_BY = {
    "orchestrator/analysis/findings/reasons.py": (
        "tests/orchestrator/analysis/findings/test_findings.py"
    ),
    "orchestrator/execution/ray/remote_ranks.py": "tests/orchestrator/cluster/test_nodes.py",
    "orchestrator/judge/sides.py": "tests/orchestrator/judge/test_command.py",
    "orchestrator/search/optuna.py": "tests/orchestrator/search/test_optuna_search.py",
    "orchestrator/tune/slices.py": "tests/orchestrator/tune/test_probe.py",
    # Layouts and stores are shown on whole data sets, compared with what OGB's own loaders give.
    "trainables/data/layouts/ogb_graph.py": "tests/trainables/data/sets/test_ogbn_products.py",
    "orchestrator/search/suggested_search.py": "tests/orchestrator/wrappers/test_from_optuna.py",
    "trainables/data/sets/community_graph.py": (
        "tests/trainables/data/sets/test_products_synthetic.py"
    ),
    "trainables/data/sets/mag_generator.py": "tests/trainables/data/sets/test_mag240m.py",
    "trainables/graph/on_device/relational_graph.py": (
        "tests/trainables/graph/on_device/test_batches.py"
    ),
    "trainables/graph/submission.py": "tests/trainables/test_rgat_batches.py",
    "trainables/graph/training_state.py": "tests/trainables/test_rgat.py",
    "trainables/loading/sources.py": "tests/trainables/loading/test_order.py",
}
"""Modules that no test imports, and the file that tests them."""


def test_every_module_has_a_test() -> None:
    tests = list((ROOT / "tests").rglob("*.py"))
    names, texts = {path.name for path in tests}, "\n".join(path.read_text() for path in tests)
    without = set()
    for module in (*(ROOT / "orchestrator").rglob("*.py"), *(ROOT / "trainables").rglob("*.py")):
        path = module.relative_to(ROOT)
        package = ".".join(path.parent.parts)
        imported = (
            rf"(from|import) {package}\.{path.stem}\b|from {package} import .*\b{path.stem}\b"
        )
        is_small = module.name == "__init__.py" or module.read_text().count("\n") <= SMALL
        if not is_small and f"test_{path.name}" not in names and not re.search(imported, texts):
            without.add(str(path))
    assert without == set(SHOWN_BY)
    assert all((ROOT / test).exists() for test in SHOWN_BY.values())


# -- documents


def links(page: Path) -> list[tuple[str, str]]:
    """Target and anchor of each link to a file of the repository."""
    found = re.findall(r"\]\(([^)#\s]*)(?:#([^)\s]*))?\)", page.read_text())
    return [(target, anchor) for target, anchor in found if "://" not in target]


def test_figures_of_the_readme_are_in_the_pages_it_names() -> None:
    rows = re.findall(
        r"^\| \[[^]]*\]\((benchmarks/results/[^)]*)\)[^|]* \| ([^|]*) \| ([^|]*) \|",
        (ROOT / "README.md").read_text(),
        re.MULTILINE,
    )
    assert rows
    for page, ours, peer in rows:
        figures = re.findall(r"[\d.]+", f"{ours} {peer}")
        text = (ROOT / page).read_text()
        assert [f for f in figures if not re.search(rf"(?<![\d.]){re.escape(f)}(?!\d)", text)] == []


def anchors(page: Path) -> set[str]:
    """Anchors of a page's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", named([page for page in PAGES if links(page)]))
def test_links_resolve(page: Path) -> None:
    for target, anchor in links(page):
        path = page.parent / target if target else page
        assert path.exists(), f"{target} is not there"
        assert not anchor or anchor in anchors(path), f"{target} has no heading #{anchor}"


def test_every_page_can_be_reached_from_the_readme() -> None:
    reached: set[Path] = set()
    waiting = [ROOT / "README.md"]
    while waiting:
        page = waiting.pop().resolve()
        if page in reached or page.suffix != ".md" or not page.exists():
            continue
        reached.add(page)
        waiting += [page.parent / target for target, _ in links(page) if target]
    assert set(PAGES) - reached == set()


@pytest.mark.parametrize(("name", "made"), [("SKILL.md", agents.skill), ("llms.txt", agents.llms)])
def test_what_agents_read_is_made_from_the_pages(name: str, made: Callable[[], str]) -> None:
    assert (ROOT / name).read_text() == made(), "run: python -m benchmarks.agents"


def test_the_skill_is_short_and_llms_txt_names_every_page() -> None:
    skill = (ROOT / "SKILL.md").read_text()
    name, description = re.findall(r"^---\nname: (.*)\ndescription: (.*)\n---\n", skill)[0]
    assert re.fullmatch(r"[a-z]+(-[a-z]+)*", name)
    assert len(name) <= 64
    assert len(description) <= 1024
    assert len(skill.split()) < 450
    pages = {path.relative_to(ROOT).as_posix() for path in (ROOT / "docs").glob("*.md")}
    assert pages <= {target for target, _ in links(ROOT / "llms.txt")}


def tracked_files() -> list[Path]:
    """Text files that git tracks."""
    if shutil.which("git") is None or not (ROOT / ".git").exists():
        pytest.skip("not a git checkout")
    listed = ran("git", "ls-files", "-z", cwd=ROOT)
    paths = [ROOT / name for name in listed.stdout.split("\0") if name]
    return [path for path in paths if path.is_file() and path.suffix not in {".png", ".parquet"}]


def test_nothing_of_one_persons_machine_is_in_the_repository() -> None:
    private = re.compile(
        "|".join(["/" + "work/", "/" + "root/", "/home" + r"/(?!user/)\w", "pypi" + r"\.org"])
    )
    found = [
        f"{path.relative_to(ROOT)}: {match.group()}"
        for path in tracked_files()
        if (match := private.search(path.read_text(errors="replace")))
    ]
    assert found == []


# -- the program


@pytest.mark.parametrize("sweep", named(SWEEPS))
def test_every_sweep_can_be_planned(
    sweep: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    planned = run_main(sweep, "--plan")
    assert "trials" in planned.stdout


NEITHER_INSTALLED = """
import sys

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {"ray", "mlflow"}:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Absent())
"""


WITHOUT_EITHER = """
import contextlib, io, runpy, sys

for name in ("ray", "mlflow"):
    try:
        __import__(name)
    except ModuleNotFoundError:
        continue
    sys.exit(f"{name} can be imported")
for name in ("lenet", "mlp", "graphsage", "rgat", "node_embedding"):
    sys.argv, printed = [name, "--help"], io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.suppress(SystemExit):
        runpy.run_module(f"trainables.{name}", run_name="__main__", alter_sys=True)
    assert "--batch-size" in printed.getvalue(), name
sys.argv = ["lenet", "--data", "digits", "--steps", "3"]
runpy.run_module("trainables.lenet", run_name="__main__", alter_sys=True)
"""


@pytest.mark.slow
def test_trainables_run_without_ray_and_mlflow(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(NEITHER_INSTALLED)
    done = python(
        "-c", WITHOUT_EITHER, cwd=tmp_path,
        variables={"PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}"},
    )  # fmt: skip
    assert "completed" in done.stdout


def options(text: str) -> set[str]:
    """Long options named in a text."""
    return set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", text))


def test_the_manual_and_the_help_name_the_same_options() -> None:
    helped = [run_main("--help"), run_main("train", "--help")]
    manual = (ROOT / "docs/command-line.md").read_text()
    rows = "\n".join(re.findall(r"^\| `(--[^`]+)`", manual, re.MULTILINE))
    assert options(rows) == set.union(*(options(page.stdout) for page in helped)) - {
        "--help",
        "--version",
        "--table",  # an old one, within the text of another
    }
