from __future__ import annotations

import json
from collections.abc import Iterator
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from typing import Any

import pytest

from orchestrator.execution.process.messages import (
    receive,
    result_within,
    with_measurements,
)
from orchestrator.trial import TrialResult, TrialState

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


def test_messages_are_received_in_order(pipe: Pair) -> None:
    send(pipe[1], report=1)
    send(pipe[1], report=2)
    assert [receive(pipe[0], 0) for _ in range(3)] == [{"report": 1}, {"report": 2}, None]


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


def test_a_result_that_does_not_come_is_not_waited_for_long(pipe: Pair) -> None:
    send(pipe[1], report=1)
    assert result_within(pipe[0], 0.05) is None


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
