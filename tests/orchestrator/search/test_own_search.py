"""A search of one's own: the example of the page about it, run as it stands there."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from orchestrator.kernel.problem import SearchProblem
from orchestrator.kernel.search import Search, SearchSpec
from tests.conftest import ROOT, RunCli
from tests.orchestrator.helpers.journalled import lines_of

PAGE = ROOT / "docs/own-search.md"
COMMON = (
    "--executor",
    "inline",
    "--no-mlflow",
    "--isolation",
    "shared",
    "--set",
    "rigor.confirm=0",
)

UNNAMED = {"accuracy_tolerance", "tie_margin", "target", "costs"}
"""Fields for the rule by which a sweep recommends; the page is about the others."""


def write_example(folder: Path) -> Path:
    """Write the page's sweep file below ``folder``."""
    found = re.search(r"^```python\n# (sweeps/\S+)\n(.*?)^```", PAGE.read_text(), re.M | re.S)
    assert found is not None
    path = folder / found[1]
    path.parent.mkdir()
    path.write_text(found[2])
    return path


def configs_asked(run: Path) -> list[Mapping[str, Any]]:
    """Return the configs asked for, in order, repeats left out."""
    events = lines_of(run / "journal.jsonl")
    trials = [event["trial"] for event in events if event["event"] == "asked"]
    return [trial["config"] for trial in trials if trial["repeat"] == 0]


def test_the_example_of_the_page_runs_and_resumes(tmp_path: Path, run_cli: RunCli) -> None:
    file, out = write_example(tmp_path), tmp_path / "run"
    done = run_cli(file, "--out", out, "--trials", "5", "--set", "rigor.repeats=1", *COMMON)

    assert done.returncode == 0, done.stderr
    baseline, *others = configs_asked(out)
    assert len(others) == 4
    differing = [name for name in baseline if others[0][name] != baseline[name]]
    assert len(differing) == 1, "one knob at a time"
    assert "settings: " in done.stdout

    resumed = run_cli("--resume", out, *COMMON)
    assert resumed.returncode == 0, resumed.stderr
    assert configs_asked(out) == [baseline, *others], "replayed to the same answers"


def test_an_error_in_the_search_ends_the_run_with_its_place_and_mended_it_goes_on(
    tmp_path: Path, run_cli: RunCli
) -> None:
    file, out = write_example(tmp_path), tmp_path / "run"
    good = file.read_text()
    wrong = good.replace("self.num_running -= 1\n", "self.num_running -= 1 / 0\n")
    line = 1 + wrong[: wrong.index("1 / 0")].count("\n")
    file.write_text(wrong)
    done = run_cli(file, "--out", out, "--trials", "2", "--set", "rigor.repeats=1", *COMMON)

    assert done.returncode == 1
    told = f"my_descent.py:{line}: tell() of Descending raised ZeroDivisionError: division by zero"
    assert f"{told}\n" in done.stderr
    assert "Traceback" not in done.stderr
    assert f"--resume {out}" in done.stdout
    again = run_cli("--resume", out, *COMMON)
    assert (again.returncode, told in again.stderr) == (2, True)

    file.write_text(good)
    resumed = run_cli("--resume", out, *COMMON)
    assert resumed.returncode == 0, resumed.stderr
    assert len(configs_asked(out)) == 2


def test_the_page_names_every_field_and_method_that_a_search_has() -> None:
    text = PAGE.read_text()
    named = {entry.name for entry in fields(SearchProblem)} - UNNAMED
    named |= {name for kind in (Search, SearchSpec) for name in vars(kind) if name[0] != "_"}
    assert [name for name in sorted(named) if f"`{name}" not in text] == []
