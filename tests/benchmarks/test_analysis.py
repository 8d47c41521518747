"""A made run is a run like any other, and every step has its time."""

from __future__ import annotations

from pathlib import Path

from benchmarks.analysis import NUM_KNOBS, STEPS, measure, write_run
from orchestrator.storage.files import RunFile


def test_a_made_run_is_measured_from_its_directory_to_its_page(tmp_path: Path) -> None:
    write_run(tmp_path / "run", 60)
    row = measure(f"{tmp_path}/run")
    assert set(row) == {*STEPS, "total", "cpu", "gib", "mb"}
    assert all(value > 0 for value in row.values())
    page = (tmp_path / "run" / RunFile.REPORT).read_text(encoding="utf-8")
    assert row["mb"] * 1e6 == len(page.encode())
    assert f"knob_{NUM_KNOBS - 1}" in page
