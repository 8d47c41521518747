from __future__ import annotations

import json
import os
from collections.abc import Iterator
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from typing import Any

import pytest

from orchestrator.execution.process.messages import (
    PipeChannel,
    receive,
    result_within,
    with_measurements,
)
from orchestrator.trial import Report, TrialResult, TrialState

Pair = tuple[Connection, Connection]


@pytest.fixture
def pipe() -> Iterator[Pair]:
    """Both ends of a pipe: of the supervisor and of the process."""
    ours, theirs = Pipe()
    yield ours, theirs
    ours.close()
    theirs.close()


def send(end: Connection, **message: Any) -> None:  # noqa: ANN401
    end.send_bytes(json.dumps(message).encode())


def test_what_a_trial_writes_to_the_pipe_itself_is_passed_over(pipe: Pair) -> None:
    pipe[1].send_bytes(b"junk\xff")
    send(pipe[1], report=1)
    assert [receive(pipe[0], 0) for _ in range(2)] == [None, {"report": 1}]


def test_what_was_sent_before_the_process_went_is_received(pipe: Pair) -> None:
    send(pipe[1], report=1)
    pipe[1].close()
    assert receive(pipe[0], 0) == {"report": 1}
    assert receive(pipe[0], 10.0) is None


def test_a_result_is_found_behind_reports(pipe: Pair) -> None:
    send(pipe[1], report=1)
    send(pipe[1], result={"at": "step 3"})
    assert result_within(pipe[0], 10.0) == {"at": "step 3"}


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


@pytest.fixture
def ends() -> Iterator[tuple[PipeChannel, Connection]]:
    """The channel of a process, and its supervisor's end."""
    ours, theirs = Pipe()
    yield PipeChannel(theirs), ours
    ours.close()
    theirs.close()


def test_a_process_that_is_forked_from_a_trial_reports_nothing(
    ends: tuple[PipeChannel, Connection],
) -> None:
    channel, supervisor = ends
    if (child := os.fork()) == 0:
        channel.report(REPORT)
        os._exit(0)
    os.waitpid(child, 0)
    assert not supervisor.poll(0)


def test_an_answer_to_an_earlier_report_stops_the_trial(
    ends: tuple[PipeChannel, Connection],
) -> None:
    channel, supervisor = ends
    channel.report(REPORT)
    supervisor.send_bytes(b'{"stop": true}')
    assert channel.report(REPORT)
    assert channel.report(REPORT), "and it stays stopped"


def test_a_slice_ends_until_the_next_one_is_given(
    ends: tuple[PipeChannel, Connection],
) -> None:
    channel, supervisor = ends
    supervisor.send_bytes(b'{"slice": true}')  # at once, so that the wait has an end
    channel.end_slice(0.25)
    assert json.loads(supervisor.recv_bytes()) == {"slice_end": 0.25}
    assert not channel.report(REPORT)


def test_a_trial_that_is_stopped_between_its_slices_stops_at_its_next_report(
    ends: tuple[PipeChannel, Connection],
) -> None:
    channel, supervisor = ends
    supervisor.send_bytes(b'{"stop": true}')
    channel.end_slice(0.25)
    assert channel.report(REPORT)
