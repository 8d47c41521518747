"""A plan's lines are broken below the text that they go on with."""

from __future__ import annotations

import pytest

from orchestrator.driver.planning.wrapping import wrapped

PLAN = [
    "NOTE: mnist is not under data; running on digits instead, which is not the same data",
    "      To get mnist: --download gets it (12 MB), or put its four files there",
    "train       8 trials: 19 configs",
    "                  8  needs 2 GPUs, the largest node has 0 (as lr=0.001 parallel=ddp)",
    "",
]


def test_what_goes_on_stands_below_its_text() -> None:
    assert list(wrapped(PLAN, 60)) == [
        "NOTE: mnist is not under data; running on digits instead,",
        "      which is not the same data",
        "      To get mnist: --download gets it (12 MB), or put its",
        "      four files there",
        "train       8 trials: 19 configs",
        "                  8  needs 2 GPUs, the largest node has 0",
        "                     (as lr=0.001 parallel=ddp)",
        "",
    ]


@pytest.mark.parametrize("width", [1, 7, 20, 50, 80, 200])
def test_no_line_is_wider_and_nothing_is_lost(width: int) -> None:
    lines = list(wrapped(PLAN, width))
    assert max(map(len, lines)) <= width
    assert "".join("".join(lines).split()) == "".join("".join(PLAN).split())
