"""The executors by name: each can be asked for, and is imported only when it is made."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from orchestrator.cli import parse
from orchestrator.driver.executors import DEFAULT_EXECUTOR, EXECUTORS, Surroundings
from orchestrator.driver.options import Options
from orchestrator.execution.inline import InlineExecutor
from tests.conftest import ROOT


@pytest.mark.parametrize("name", EXECUTORS)
def test_each_can_be_asked_for(name: str) -> None:
    assert parse(["--executor", name]).executor_name == name


def test_without_a_name_it_is_the_default_one() -> None:
    assert Options().executor_name == DEFAULT_EXECUTOR
    assert DEFAULT_EXECUTOR in EXECUTORS


def test_to_know_them_imports_none() -> None:
    code = (
        "import sys, orchestrator.driver.executors; "
        "print([m for m in ('ray', 'orchestrator.execution.inline') if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT
    )
    assert done.stdout == "[]\n"


def test_the_inline_one_is_made_without_a_cluster(tmp_path: Path) -> None:
    executor = EXECUTORS["inline"].make(Surroundings(folder=tmp_path, preload=(), file=Path("s")))
    assert isinstance(executor, InlineExecutor)
    executor.close()
