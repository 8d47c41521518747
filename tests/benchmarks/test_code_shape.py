"""The shape of a made checkout."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.code_shape import PACKAGES, main
from benchmarks.features import Feature

FILES = {
    "replay/player.py": "def replayed() -> None:\n    pass\n",
    "loop.py": "from orchestrator.replay.player import replayed\n",
    "words.py": "IS_REPLAY = 'REPLAY'\n",
    "other.py": "import orchestrator.words\n",
}


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    for package in (*PACKAGES, "tests"):
        (tmp_path / package).mkdir()
        (tmp_path / package / "__init__.py").write_text('"""A package."""\n')
    for name, text in FILES.items():
        (tmp_path / "orchestrator" / name).parent.mkdir(exist_ok=True)
        (tmp_path / "orchestrator" / name).write_text(text)
    return tmp_path


def test_files_outside_of_its_own_name_a_feature(checkout: Path) -> None:
    feature = Feature(name="replay", words="replay", own="replay")
    found = [path.name for path in feature.files(checkout / "orchestrator")]
    assert found == ["loop.py", "words.py"]


def test_the_tables_have_lines_circles_and_features(
    checkout: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--root", str(checkout)]) == 0
    printed = capsys.readouterr().out
    assert "| orchestrator | 5 | 6 |" in printed
    assert "| orchestrator/replay | 1 | 2 |" in printed
    assert "folders of more than 20 files: none" in printed
    assert "| replay | 2 |" in printed
