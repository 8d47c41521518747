"""A function as it is written: what counts as a change of it, and what does not."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from orchestrator.provenance.source_text import source_text

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
    assert spec is not None
    assert spec.loader is not None
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


def test_it_can_be_read(tmp_path: Path) -> None:
    assert text_of(tmp_path, "made").splitlines()[1:] == [
        "holds = lambda config: config.workers < 4",
        "reason = 'too many'",
    ]
    assert text_of(tmp_path, "instance") == "sweep_of_mine.Callable_"
