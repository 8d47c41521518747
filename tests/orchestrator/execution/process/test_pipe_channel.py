from __future__ import annotations

import json
import os
from collections.abc import Iterator
from multiprocessing import Pipe
from multiprocessing.connection import Connection

import pytest

from orchestrator.execution.process.pipe_channel import PipeChannel
from orchestrator.trial import Report

REPORT = Report(step=1, epoch=1, samples=8, elapsed_s=0.1, metrics={"val_acc": 0.5})


@pytest.fixture
def ends() -> Iterator[tuple[PipeChannel, Connection]]:
    """The channel of a process, and its supervisor's end."""
    ours, theirs = Pipe()
    yield PipeChannel(theirs), ours
    ours.close()
    theirs.close()


def test_a_report_waits_for_no_answer(ends: tuple[PipeChannel, Connection]) -> None:
    channel, supervisor = ends
    assert not channel.report(REPORT)
    message = json.loads(supervisor.recv_bytes())
    assert Report.from_json({**message["report"], "blocks": ()}) == REPORT
    assert channel.last is REPORT


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
