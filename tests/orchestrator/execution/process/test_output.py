"""The beginning and the end of what a trial has printed."""

from __future__ import annotations

from pathlib import Path

from orchestrator.execution.process.output import MOST_BYTES, output_of, tail_of


def test_the_tail_of_an_output_is_its_last_lines(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_bytes(b"\n".join(b"%d" % n for n in range(30)) + b"\xff\n")
    lines = tail_of(log).splitlines()
    assert (len(lines), lines[0], lines[-1]) == (20, "10", "29\N{REPLACEMENT CHARACTER}")
    assert tail_of(tmp_path / "absent") == ""


def test_a_short_output_is_kept_whole(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_bytes(b"x" * 2 * MOST_BYTES)
    assert output_of(log) == "x" * 2 * MOST_BYTES
    log.write_bytes(b"\xff\n")
    assert output_of(log) == "\N{REPLACEMENT CHARACTER}\n"
    assert output_of(tmp_path / "absent") == ""


def test_of_a_long_output_the_beginning_and_the_end_are_kept(tmp_path: Path) -> None:
    """A sparse file of a TiB: whoever read all of it would have no memory left."""
    log = tmp_path / "log"
    with log.open("wb") as file:
        file.write(b"first line\n")
        file.truncate(2**40)
        file.seek(0, 2)
        file.write(b"\nlast line\n")
    text = output_of(log)
    assert text.startswith("first line\n")
    assert text.endswith("\nlast line\n")
    assert f"\n... {2**40 + 11 - 2 * MOST_BYTES:,} bytes are left out here ...\n" in text
    assert len(text) < 2 * MOST_BYTES + 100
    assert tail_of(log).splitlines()[-1] == "last line"
