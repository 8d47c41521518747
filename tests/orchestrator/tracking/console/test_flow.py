"""Parts are laid out whole in any width."""

from __future__ import annotations

import pytest
from rich.text import Text

from orchestrator.tracking.console.flow import flowed


def lines_of(parts: list[str], width: int, indent: int = 2) -> list[str]:
    return [line.plain for line in flowed(map(Text, parts), width, indent=indent)]


def test_a_part_that_does_not_fit_begins_a_line() -> None:
    parts = ["1/8", "completed", "", "num_workers=3", "lr=0.003"]
    assert lines_of(parts, 80) == ["1/8  completed  num_workers=3  lr=0.003"]
    assert lines_of(parts, 22) == ["1/8  completed", "  num_workers=3", "  lr=0.003"]


def test_a_part_wider_than_a_line_is_broken_between_words_then_anywhere() -> None:
    assert lines_of(["! held by another sweep"], 14) == ["! held by", "  another", "  sweep"]
    assert lines_of(["abcdefghijklmnop"], 6, indent=0) == ["abcdef", "ghijkl", "mnop"]
    assert lines_of(["漢字漢字"], 5, indent=0) == ["漢字", "漢字"]


@pytest.mark.parametrize("width", range(1, 40))
def test_no_line_is_wider_and_nothing_is_lost(width: int) -> None:
    parts = ["recommended", "15.0k samples/s", "fanouts=10,25", "a reason of several words"]
    lines = flowed(map(Text, parts), width)
    assert max(line.cell_len for line in lines) <= width
    assert "".join("".join(parts).split()) == "".join("".join(map(str, lines)).split())


def test_styles_stay_with_their_parts() -> None:
    (line,) = flowed([Text("1 failed", style="red"), Text("2 running", style="bold")], 40)
    assert [(span.start, span.end, span.style) for span in line.spans] == [
        (0, 8, "red"),
        (10, 19, "bold"),
    ]
