"""Trainables on their own: what a command line may say."""

from __future__ import annotations

import pytest

from orchestrator.standalone import EXIT_WRONG_REQUEST, _parser
from tests.orchestrator.execution.workload import workload


@pytest.mark.parametrize(
    ("option", "value", "allowed"),
    [
        ("--epochs", "0", "a whole number of at least 1"),
        ("--epochs", "-1", "a whole number of at least 1"),
        ("--epochs", "1.5", "a whole number of at least 1"),
        ("--steps", "0", "a whole number of at least 1"),
        ("--seed", "-1", "a whole number of at least 0 and at most 2147483647"),
        ("--seed", "99999999999", "a whole number of at least 0 and at most 2147483647"),
    ],
)
def test_a_count_that_is_none_is_refused(
    capsys: pytest.CaptureFixture[str], option: str, value: str, allowed: str
) -> None:
    with pytest.raises(SystemExit) as ended:
        _parser(workload).parse_args([option, value])
    assert ended.value.code == EXIT_WRONG_REQUEST
    said = capsys.readouterr()
    assert said.out == ""
    assert f"argument {option}: {value!r} is not allowed: {allowed}" in said.err
