"""A framework that is not installed is one sentence, with the way out."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest

from orchestrator.errors import SweepError
from tests.orchestrator.in_process import run_main

FRAMEWORKS = {"lightning": ["lightning", "pytorch_lightning"], "transformers": ["transformers"]}
SWEEP = """\
from orchestrator.integrations.{name} import prepare
"""


@pytest.fixture(params=FRAMEWORKS)
def absent(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Name of a framework that cannot be imported."""
    name: str = request.param
    for library in FRAMEWORKS[name]:
        for module in [
            library,
            *(found for found in sys.modules if found.startswith(f"{library}.")),
        ]:
            monkeypatch.setitem(sys.modules, module, None)
    monkeypatch.delitem(sys.modules, f"orchestrator.integrations.{name}", raising=False)
    return name


def test_an_import_without_it_says_what_to_install(absent: str) -> None:
    with pytest.raises(ImportError) as caught:
        importlib.import_module(f"orchestrator.integrations.{absent}")
    assert isinstance(caught.value, SweepError)
    message = str(caught.value)
    assert f"which is not installed here: pip install {absent}" in message
    assert len(message.splitlines()) == 1


def test_a_sweep_file_without_it_is_refused(absent: str, tmp_path: Path) -> None:
    file = tmp_path / "my_sweep.py"
    file.write_text(SWEEP.format(name=absent))
    done = run_main(file, "--plan")
    assert done.returncode == 2
    assert f"my_sweep.py:1: orchestrator.integrations.{absent} needs" in done.stderr
    assert "Traceback" not in done.stderr
