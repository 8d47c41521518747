"""The output of a trainable that is trained without a sweep."""

import re

import pytest

from orchestrator.execution.telemetry.sampler import Telemetry
from orchestrator.standalone import main
from tests.conftest import StartCli
from tests.orchestrator.execution.workload import workload

pytestmark = pytest.mark.usefixtures("quick_servers")

LOAD = "25 % of its cores' time went to other processes"


def output_of(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    """Return the exit code of ``workload`` on its own, and what it prints."""
    with pytest.raises(SystemExit) as ended:
        main(workload, arguments)
    printed = capsys.readouterr()
    return ended.value.code, printed.out, printed.err


def test_a_contaminated_run_is_reported_and_not_trained_again(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Telemetry, "contamination", lambda _: [LOAD])
    code, out, err = output_of(capsys)
    assert code == 0
    assert len(re.findall(r"^epoch 1,", out, re.MULTILINE)) == 1
    (note,) = (line for line in err.splitlines() if "contaminated this run" in line)
    assert LOAD in note


def test_a_clean_run_prints_nothing_about_contamination(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Telemetry, "contamination", lambda _: [])
    code, _, err = output_of(capsys)
    assert (code, err) == (0, "")


def test_what_the_training_prints_is_seen_before_its_result(
    capsys: pytest.CaptureFixture[str],
) -> None:
    _, out, _ = output_of(capsys, "--act", "print")
    assert out.count("not a message {\n") == 1000
    assert "nor is this" in out
    assert out.index("nor is this") < out.index("epoch 1,") < out.index("completed in")


def test_a_failure_is_printed_once(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = output_of(capsys, "--act", "raise")
    assert code == 1
    assert out.count("Traceback") == 1
    assert out.count("about to raise") == 1
    assert out.index("Traceback") < out.index("failed in")
    assert out.splitlines()[out.splitlines().index("ValueError: told to") + 1].startswith("failed")


@pytest.mark.slow
def test_each_logged_step_is_seen_when_it_is_taken(start_cli: StartCli) -> None:
    options = "--data digits --epochs 400 --log-every 1 --data-path resident"
    training = start_cli(*options.split(), module="trainables.lenet")
    lines: list[str] = []
    while not any(line.startswith("epoch 1,") for line in lines):
        lines.append(training.stdout.readline())
        assert lines[-1], "it goes on for 399 epochs"
    steps = [line for line in lines if re.match(r"step \d+: loss \d", line)]
    assert steps[0].startswith("step 1:")
    assert len(steps) >= 5, "not only when a buffer is full"
