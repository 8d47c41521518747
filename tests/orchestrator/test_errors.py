"""Errors of a request: raised one by one or together."""

from __future__ import annotations

from pathlib import Path

import pytest

from orchestrator.errors import (
    KnobError,
    Problems,
    SweepError,
    collecting_problems,
    nearest,
    raise_all,
    refuse,
    refusing_os_errors,
)


def test_a_near_name_is_suggested_and_a_far_one_is_not() -> None:
    assert nearest("wokers", ["lr", "workers"]) == "; did you mean 'workers'?"
    assert nearest("momentum", ["lr", "workers"]) == ""


def test_one_problem_is_raised_as_it_is_and_several_together() -> None:
    first, second = KnobError("first"), KnobError("second", "hint")
    raise_all([])
    with pytest.raises(KnobError, match="first"):
        raise_all([first])
    with pytest.raises(Problems) as raised:
        raise_all([first, second])
    assert raised.value.problems == (first, second)
    assert str(raised.value) == "first\nsecond\n  hint"


def test_problems_are_collected_within_the_block_alone() -> None:
    problem = KnobError("wrong")
    with collecting_problems() as problems:
        refuse([problem])
    assert problems == [problem]
    with pytest.raises(KnobError):
        refuse([problem])


def test_a_file_that_cannot_be_read_is_a_wrong_request_with_its_name(tmp_path: Path) -> None:
    message = r"absent\.csv: cannot be used: No such file"
    with pytest.raises(SweepError, match=message), refusing_os_errors():
        (tmp_path / "absent.csv").read_text()
