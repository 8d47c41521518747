"""Trainables on their own: what a command line may say."""

from __future__ import annotations

import pytest

from orchestrator.standalone import EXIT_WRONG_REQUEST, main
from tests.conftest import RunCli
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
        main(workload, [option, value])
    assert ended.value.code == EXIT_WRONG_REQUEST
    said = capsys.readouterr()
    assert said.out == ""
    assert f"argument {option}: {value!r} is not allowed: {allowed}" in said.err


def test_knobs_without_effect_are_noted(run_cli: RunCli) -> None:
    arguments = "--data digits --steps 1 --data-path batched --prefetch-factor 4 --ranks 2"
    finished = run_cli(*arguments.split(), module="trainables.lenet")
    assert finished.returncode == 0, finished.stdout + finished.stderr
    first = finished.stderr.splitlines()[0]  # where other load contaminates it there is another
    assert first == "NOTE: without effect beside the other knobs: prefetch_factor=4, ranks=2"
