"""Hashes of made-up trainables: each change of the code that trains counts."""

import functools
import importlib.util
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from orchestrator.provenance.source import source_hash, source_text
from orchestrator.space.configs import make_config_class
from orchestrator.space.knob import Knob, Role
from orchestrator.sweep.loading import load_sweep
from orchestrator.trainable import Trainable
from tests.helping import python
from tests.orchestrator.helpers.import_state import import_state
from tests.orchestrator.helpers.sweep_files import GOOD, written

Hash = Callable[[], str]


Plain = make_config_class("Plain", {"x": Knob(type=int, default=1, role=Role.BOTH, doc="x")})


FILES = {
    "own_code/__init__.py": "",
    "own_code/train.py": """
        from own_code import layers
        from own_code.data.images import read
        from .deep import helper
        import neighbour
        import bare.inside
        import numpy
        from orchestrator import both, knobs, Trainable

        @knobs
        class Config:
            x: int = both(default=1, doc="x")

        def train(config, run):
            from own_code.late import late
    """,
    "own_code/layers.py": "import own_code.train",
    "own_code/unused.py": "",
    "own_code/late.py": "",
    "own_code/data/__init__.py": "",
    "own_code/data/images.py": "from ..sizes import SIZE\ndef read(): ...",
    "own_code/sizes.py": "SIZE = 3",
    "own_code/deep/__init__.py": "from .inner import helper",
    "own_code/deep/inner.py": "def helper(): ...",
    "neighbour.py": "",
    "bare/inside.py": "",
    "bare/other.py": "",
}

__all__ = ["import_state"]  # a fixture of all tests here

FOLLOWED = set(FILES) - {"own_code/unused.py", "bare/other.py"}


@pytest.fixture
def package(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True, parents=True)
        lines = [line.removeprefix("        ") for line in text.splitlines()]
        path.write_text("\n".join(lines))
    sys.path.insert(0, str(tmp_path))
    return tmp_path


@pytest.fixture
def hashed(package: Path) -> Hash:
    """The hash of the package's trainable, as it is now on the disk."""
    import own_code.train as module  # type: ignore[import-not-found]

    return lambda: source_hash(Trainable(module.train, module.Config))


@pytest.mark.parametrize("name", FILES)
def test_a_change_in_what_is_imported_is_noticed(package: Path, hashed: Hash, name: str) -> None:
    before = hashed()
    path = package / name
    path.write_text(path.read_text() + "\nCHANGED = True\n")

    assert (hashed() != before) == (name in FOLLOWED)


def test_a_move_to_another_folder_changes_nothing(
    package: Path, hashed: Hash, tmp_path_factory: pytest.TempPathFactory
) -> None:
    elsewhere = tmp_path_factory.mktemp("elsewhere") / "copy"
    shutil.copytree(package, elsewhere)
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); import own_code.train as m; "
        "from orchestrator.provenance.source import source_hash; "
        "print(source_hash(m.Trainable(m.train, m.Config)))"
    )
    done = python("-c", code, str(elsewhere))

    assert done.stdout.strip() == hashed()


def test_what_is_installed_is_not_followed(package: Path) -> None:
    installed = package / "site-packages"
    installed.mkdir()
    for name in ("their_code", "their_other"):
        (installed / f"{name}.py").write_text("import their_other\ndef train(c, r): ...")
    sys.path.insert(0, str(installed))
    import their_code  # type: ignore[import-not-found]

    trainable = Trainable(their_code.train, Plain)
    before = source_hash(trainable)
    (installed / "their_other.py").write_text("x = 2")

    assert source_hash(trainable) == before


def test_modules_in_src_and_in_a_sweep_s_folder_further_down_are_followed(tmp_path: Path) -> None:
    for name in ("pyproject.toml", "src/in_src.py", "questions/beside_it.py", "at_root.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("")
    path = written(tmp_path / "questions", "import at_root, beside_it, in_src\n" + GOOD)
    trainable = load_sweep(path).trainable
    assert trainable.train.__module__ == f"questions.{path.stem}"
    hashes = [source_hash(trainable)]
    for name in ("src/in_src.py", "questions/beside_it.py", "at_root.py"):
        (tmp_path / name).write_text("changed = True")
        hashes.append(source_hash(trainable))
    assert len(set(hashes)) == 4


def test_wrapped_functions_are_looked_through(package: Path, hashed: Hash) -> None:
    import own_code.train as module

    @functools.wraps(module.train)
    def wrapper(config: object, run: object) -> None: ...

    same = {
        source_hash(Trainable(function, Plain, name="x"))
        for function in (module.train, wrapper, functools.partial(wrapper))
    }

    assert len(same) == 1
    assert same == {hashed()}


def test_a_function_that_was_typed_in_is_identified_by_its_code() -> None:

    def made(text: str) -> Trainable[object]:
        names: dict[str, object] = {"__name__": "typed_in"}
        exec(f"def train(config, run): return {text}", names)
        return Trainable(names["train"], Plain)  # type: ignore[arg-type]

    assert source_hash(made("1 + config.x")) == source_hash(made("1 + config.x"))
    assert source_hash(made("1 + config.x")) != source_hash(made("2 + config.x"))


# -- the text of a function

MODULE = """
from orchestrator import requires

LIMIT = 3


def double(value):
    return 2 * value


def own(config, machine):
    if double(config.workers) > LIMIT:
        return "too many"
    return None


made = requires(lambda config: config.workers < 4, "too many")


class Callable_:
    def __call__(self, config, machine):
        return None


instance = Callable_()
"""


def text_of(folder: Path, name: str, module: str = MODULE) -> str:
    folder.mkdir(exist_ok=True)
    file = folder / "sweep_of_mine.py"
    file.write_text(module)
    spec = importlib.util.spec_from_file_location(file.stem, file)
    loaded: Any = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    function: Callable[..., Any] = getattr(loaded, name)
    return source_text(function)


@pytest.mark.parametrize("name", ["own", "made", "instance"])
def test_its_place_layout_and_comments_do_not_count(tmp_path: Path, name: str) -> None:
    moved = "# moved down\n\n" + MODULE.replace("    if double", "    # why\n\n    if double")
    assert text_of(tmp_path / "a", name) == text_of(tmp_path / "b", name, moved)


@pytest.mark.parametrize(
    ("name", "was", "becomes"),
    [
        ("own", "too many", "too few"),
        ("own", "LIMIT = 3", "LIMIT = 4"),
        ("own", "2 * value", "3 * value"),
        ("made", "< 4", "< 5"),
        ("made", '4, "too many"', '4, "no"'),
    ],
)
def test_what_it_is_made_of_counts(tmp_path: Path, name: str, was: str, becomes: str) -> None:
    changed = MODULE.replace(was, becomes)
    assert changed != MODULE
    assert text_of(tmp_path / "a", name) != text_of(tmp_path / "b", name, changed)
