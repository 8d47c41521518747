"""The distribution: its declared requirements, and its use by a stranger."""

import ast
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from contextlib import suppress
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from orchestrator import __version__
from tests.conftest import ROOT
from tests.leaks import MARK
from tests.test_repository import pins

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
NAMES = {
    "jinja2": "jinja2",
    "sklearn": "scikit-learn",
    "pynvml": "nvidia-ml-py",
    "PIL": "pillow",
    "tensorboardX": "tensorboardx",
}
"""Distributions with another name than their modules."""
BROUGHT_ALONG = {"sqlalchemy": "mlflow", "pillow": "torchvision"}
"""Requirements that come with another requirement."""


def asked(*extras: str) -> dict[str, Requirement]:
    """Requirements by name, of the base and of some extras."""
    lines = [*PROJECT["dependencies"]]
    for extra in extras:
        lines += PROJECT["optional-dependencies"][extra]
    return {each.name: each for each in map(Requirement, lines)}


def imported(package: str) -> set[str]:
    """Distributions that a package imports, ours and Python's left out."""
    modules: set[str] = set()
    for path in (ROOT / package).rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                modules |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and not node.level:
                modules.add(node.module or "")
    tops = {name.partition(".")[0] for name in modules} - sys.stdlib_module_names
    return {NAMES.get(top, top) for top in tops - {"orchestrator", "trainables"}}


def missing(package: str, *extras: str) -> set[str]:
    given = set(asked(*extras))
    return {name for name in imported(package) if not {name, BROUGHT_ALONG.get(name)} & given}


def test_each_dependency_has_its_reason() -> None:
    extras = set(PROJECT["optional-dependencies"]) - {"all"}
    lines = [
        line for path in ROOT.glob("requirements*.in") for line in path.read_text().split("\n")
    ]
    pinned = {re.split(r"[=\[]", line)[0] for line in lines if re.match(r"\w", line)}
    table = re.findall(r"^\| ([^|]+) \|", (ROOT / "docs/adr/dependencies.md").read_text(), re.M)
    reasons = {re.sub(r"\[.*", "", name) for cell in table for name in cell.split(", ")}
    assert len(pinned) > 30
    assert (set(asked(*extras)) | pinned) - reasons == set()


def test_what_is_imported_is_asked_for() -> None:
    assert missing("orchestrator") - OTHER_NAMES == {"lightning", "transformers"}
    assert missing("orchestrator", "lightning", "transformers") <= OTHER_NAMES
    assert missing("trainables", "vision", "graphs") == set()


OTHER_NAMES = {"pytorch_lightning"}
"""Distributions that a module of ours accepts instead of a declared one."""


def test_the_pinned_versions_are_within_the_ranges() -> None:
    pinned = pins((ROOT / "requirements.in").read_text())
    for extra in ("notebooks", "integrations"):
        pinned |= pins((ROOT / f"requirements-{extra}.in").read_text())
    ranges = asked(*set(PROJECT["optional-dependencies"]) - {"all"})
    assert set(ranges) <= set(pinned)
    outside = [name for name, each in ranges.items() if pinned[name] not in each.specifier]
    assert outside == []


# -- a stranger's use: built, installed into an empty environment, used in another repository


UV = Path(sys.executable).with_name("uv")
NO_NETWORK = re.compile(
    r"error sending request|dns error|network|Failed to fetch|No solution.*cache"
)

KEPT = ("TMPDIR", "SWEEP_LEASES", MARK)
"""Variables that keep the tests apart from other processes."""

RAISES = "raise ImportError('this is the folder of a user, which nothing of ours may import')\n"

SWEEP = """
from dataclasses import replace

from shared_words import QUESTION
from trainables.my_trainable import SpiralConfig, spirals

from orchestrator import Grid, Rigor, Sweep, choice

SWEEP = Sweep(
    replace(spirals, warm=True),
    question=QUESTION,
    space=SpiralConfig(batch_size=choice(256, 512)),
    search=Grid(),
    epochs=2,
    rigor=Rigor(confirm=0, max_repeats=1, check_isolated=0),
)
"""


def uv(*words: str | Path) -> None:
    """Run uv; skip the test where that needs a network, and there is none."""
    done = subprocess.run([UV, *words], capture_output=True, text=True, check=False)
    if done.returncode and NO_NETWORK.search(done.stderr):
        pytest.skip(f"uv {words[0]} needs a network: {done.stderr.splitlines()[-1]}")
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    uv("build", "--wheel", "--quiet", "--out-dir", folder, ROOT)
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def environment(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with the wheel only, of the checkout's versions: uv has them in its cache."""
    folder = tmp_path_factory.mktemp("environment")
    uv("venv", "--quiet", "--python", sys.executable, folder / "venv")
    python, pinned = folder / "venv/bin/python", ROOT / "requirements.lock"
    uv("pip", "install", "--quiet", "--python", python, "--constraint", pinned, wheel)
    _link_bytecode(Path(pytest.__file__).parents[1], *folder.glob("venv/lib/*/site-packages"))
    return folder / "venv"


def _link_bytecode(ours: Path, theirs: Path) -> None:
    """Compile nothing twice: uv links the same files, and byte code is valid by their times."""
    with suppress(OSError):  # on another disk they are copies
        for compiled in ours.rglob("__pycache__"):
            if (home := theirs / compiled.relative_to(ours).parent).is_dir():
                shutil.copytree(compiled, home / compiled.name, copy_function=os.link)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository with folders that are called like ours."""
    files = {
        "pyproject.toml": "",
        "shared_words.py": "QUESTION = 'Which batch size?'\n",
        "sweeps/which.py": SWEEP,
        "work/notes.txt": "",
    }
    files |= {f"{name}/__init__.py": RAISES for name in ("analysis", "benchmarks", "tests")}
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    for words in (["init"], ["add", "."], ["-c", "user.name=a", "-c", "user.email=a@b.invalid",
                                           "commit", "-m", "all"]):  # fmt: skip
        subprocess.run(["git", *words], cwd=tmp_path, capture_output=True, check=True)
    return tmp_path


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_the_wheel_has_two_packages_and_what_they_read(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        entry_points = archive.read(f"{wheel.name.rsplit('-', 3)[0]}.dist-info/entry_points.txt")
    tops = {name.partition("/")[0] for name in names}
    assert {name for name in tops if not name.endswith(".dist-info")} == {
        "orchestrator",
        "trainables",
    }
    report = "orchestrator/analysis/report"
    assert {
        "orchestrator/py.typed",
        "trainables/py.typed",
        "orchestrator/templates/my_sweep.py.txt",
        f"{report}/templates/report.html.j2",
        f"{report}/vendored/plotly-cartesian.min.js",
    } <= set(names)
    tracked = subprocess.run(
        ["git", "ls-files", "orchestrator", "trainables"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    ).stdout.split()  # fmt: skip
    assert set(tracked) - set(names) == set()
    recorded = "orchestrator/analysis/notebooks/recorded/products_loader"
    assert {f"{recorded}/{name}" for name in ("sweep.json", "trials.parquet")} <= set(names)
    assert b"orchestrator = orchestrator.__main__:run" in entry_points


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_strangers_way(environment: Path, repository: Path) -> None:
    """Through Ray and MLflow, with warm trainables, from a folder below the repository's root."""
    variables = {"PATH": f"{environment}/bin:/usr/bin:/bin", "HOME": str(repository / "home")}
    variables |= {name: os.environ[name] for name in KEPT if name in os.environ}

    def run(*words: str, cwd: str = ".") -> str:
        done = subprocess.run(
            words, cwd=repository / cwd, env=variables, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    assert run("orchestrator", "--version").startswith(f"sweep-orchestrator {__version__}")
    run("orchestrator", "init", "trainables")
    output = run("orchestrator", "../sweeps/which.py", cwd="work")
    (run_dir,) = (repository / "work/runs/which").iterdir()
    assert "3 completed" in output, output
    assert (run_dir / "report.html").is_file()
    assert (repository / "work/runs/mlflow.db").is_file()
    record = json.loads((run_dir / "sweep.json").read_text())
    assert record["git"]["commit"]
    assert record["versions"]["sweep-orchestrator"] == __version__
    assert json.loads((run_dir / "recommended.json").read_text())["config"]
    assert "batch_size" in run("orchestrator", "show", str(run_dir))
    notebook = (
        "import orchestrator.analysis as an; exec((an.NOTEBOOKS / '60_two_runs.py').read_text())"
    )
    assert run("python", "-c", notebook).strip()
    by_hand = run("python", "trainables/my_trainable.py", "--epochs", "1", "--save", "model.pt")
    assert "completed" in by_hand
    assert (repository / "model.pt").is_file()
