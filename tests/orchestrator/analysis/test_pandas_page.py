"""The page about frames: its examples run, and it names every function."""

import re
from pathlib import Path
from typing import Any

import pytest

import orchestrator.analysis as an
from tests.orchestrator.analysis.made_runs import MadeRun

PAGE = (Path(__file__).parents[3] / "docs" / "pandas.md").read_text(encoding="utf-8")


def test_the_example_runs(made: MadeRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (example,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    (place,) = re.findall(r'an\.load\("(runs/[^"]+)"\)', example)
    made.write(tmp_path / place)
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    exec(example, names)
    assert 0 < len(names["front"]) <= len(names["fast"]) < len(names["configs"]) == 24
    assert names["times"]["reached_s"].notna().any()
    assert {path.name for path in names["paths"]} >= {"trials.parquet", "configs.parquet"}
    for line in re.findall(r"^    (\S.*)$", PAGE, re.MULTILINE):
        exec(line, names)


def test_every_function_is_on_the_page() -> None:
    functions = {name for name in an.__all__ if name.islower()} - {"plot"}
    assert {
        name for name in functions if f"`{name}`" not in PAGE and f"an.{name}" not in PAGE
    } == set()
