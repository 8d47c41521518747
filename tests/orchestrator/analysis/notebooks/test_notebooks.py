"""The notebooks, each run on a recorded run."""

import runpy
from pathlib import Path

import pytest

from tests.conftest import ROOT

NOTEBOOKS = ROOT / "analysis" / "notebooks"
RECORDED = NOTEBOOKS / "recorded"
FILES = sorted(NOTEBOOKS.glob("[0-9]*.py"))


@pytest.mark.parametrize("notebook", FILES, ids=lambda path: path.stem)
def test_a_notebook_ends_in_a_sentence(
    notebook: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("RUN", raising=False)
    monkeypatch.delenv("OLDER", raising=False)
    monkeypatch.chdir(ROOT)
    assert len(runpy.run_path(str(notebook))["result"])
    last = capsys.readouterr().out.strip().splitlines()[-1]
    assert len(last.split()) > 8
    assert "nan" not in last.lower()


def test_there_are_seven() -> None:
    assert len(FILES) == 7


@pytest.mark.parametrize("run_dir", sorted(RECORDED.iterdir()), ids=lambda path: path.name)
def test_a_recorded_run_names_no_folder_of_its_machine(run_dir: Path) -> None:
    for name in ("sweep.json", "journal.jsonl"):
        text = (run_dir / name).read_text()
        assert not any(f'"{root}' in text for root in ("/home", "/root", "/work", "/tmp"))
