"""``python -m orchestrator.analysis open``."""

from __future__ import annotations

import json
import webbrowser
from pathlib import Path

import pytest

from orchestrator.analysis.__main__ import main


@pytest.fixture
def reported(tmp_path: Path) -> Path:
    """A run with a report."""
    run = tmp_path / "run"
    run.mkdir()
    (run / "sweep.json").write_text("{}")
    (run / "report.html").write_text("<p>report")
    return run


@pytest.mark.parametrize("has_display", [True, False])
def test_the_report_is_opened_where_there_is_a_browser(
    has_display: bool, reported: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    opened: list[str] = []
    monkeypatch.setattr(webbrowser, "open", lambda url: bool(opened.append(url)) or True)
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER"):
        monkeypatch.delenv(name, raising=False)
    if has_display:
        monkeypatch.setenv("DISPLAY", ":0")
    assert main(["open", str(reported), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["opened"] is has_display
    assert Path(document["report"]) == reported / "report.html"
    assert opened == [(reported / "report.html").as_uri()] * has_display
    assert main(["open", str(reported)]) == 0
    assert capsys.readouterr().out == f"{reported / 'report.html'}\n"


def test_a_run_without_a_report_says_what_writes_it(
    reported: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (reported / "report.html").unlink()
    assert main(["open", str(reported)]) == 2
    text = capsys.readouterr().err
    assert "has no report.html" in text
    assert f"python -m orchestrator.analysis {reported}" in text
