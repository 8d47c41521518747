from __future__ import annotations

import json
import os
from collections.abc import Iterator
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from typing import Any

import pytest

from orchestrator.execution.process.fork_client import ForkedProcess
from orchestrator.execution.process.messages import PipeChannel
from orchestrator.execution.supervision.endings import with_measurements
from orchestrator.trial import Report, TrialResult, TrialState

Pair = tuple[ForkedProcess, Connection]


@pytest.fixture
def pipe() -> Iterator[Pair]:
    """A process as its supervisor sees it, and the process's end of the pipe."""
    ours, theirs = Pipe()
    process = object.__new__(ForkedProcess)
    process.channel = ours
    yield process, theirs
    ours.close()
    theirs.close()


def send(end: Connection, **message: Any) -> None:  # noqa: ANN401
    end.send_bytes(json.dumps(message).encode())


def test_what_a_trial_writes_to_the_pipe_itself_is_passed_over(pipe: Pair) -> None:
    pipe[1].send_bytes(b"junk\xff")
    send(pipe[1], report=1)
    assert [pipe[0].receive(0) for _ in range(2)] == [None, {"report": 1}]


def test_what_was_sent_before_the_process_went_is_received(pipe: Pair) -> None:
    send(pipe[1], report=1)
    pipe[1].close()
    assert pipe[0].receive(0) == {"report": 1}
    assert pipe[0].receive(10.0) is None


def test_a_result_is_found_behind_reports(pipe: Pair) -> None:
    send(pipe[1], report=1)
    send(pipe[1], result={"at": "step 3"})
    assert pipe[0].result_within(10.0) == {"at": "step 3"}


def test_measurements_of_the_process_come_over_those_from_outside() -> None:
    row = TrialResult(
        state=TrialState.COMPLETED,
        reason="",
        metrics={"busy_cores": 1.0, "steps": 1.0},
        tags={"contaminated": "false"},
    )
    message = {"metrics": {"steps": 2.0}, "tags": {"bound": "loader"}, "blocks": [[1, 2]]}
    measured = with_measurements(row, message)
    assert measured.metrics == {"busy_cores": 1.0, "steps": 2.0}
    assert measured.tags == {"contaminated": "false", "bound": "loader"}
    assert measured.blocks == [[1, 2]]
    assert with_measurements(measured, {}).blocks == [[1, 2]]


REPORT = Report(step=1, epoch=1, samples=8, elapsed_s=0.1, metrics={"val_acc": 0.5})


def test_a_process_that_is_forked_from_a_trial_reports_nothing(pipe: Pair) -> None:
    channel, supervisor = PipeChannel(pipe[1]), pipe[0].channel
    if (child := os.fork()) == 0:
        channel.report(REPORT)
        os._exit(0)
    os.waitpid(child, 0)
    assert not supervisor.poll(0)


def test_an_answer_to_an_earlier_report_stops_the_trial(pipe: Pair) -> None:
    channel, supervisor = PipeChannel(pipe[1]), pipe[0].channel
    channel.report(REPORT)
    supervisor.send_bytes(b'{"stop": true}')
    assert channel.report(REPORT)
    assert channel.report(REPORT), "and it stays stopped"


@pytest.mark.parametrize(("answer", "is_stopped"), [("slice", False), ("stop", True)])
def test_a_slice_ends_until_the_supervisor_answers(
    pipe: Pair, answer: str, is_stopped: bool
) -> None:
    channel, supervisor = PipeChannel(pipe[1]), pipe[0].channel
    send(supervisor, **{answer: True})  # at once, so that the wait has an end
    channel.end_slice(0.25)
    assert json.loads(supervisor.recv_bytes()) == {"slice_end": 0.25}
    assert channel.report(REPORT) is is_stopped
