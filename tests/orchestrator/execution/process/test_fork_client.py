import os
import pickle
from collections.abc import Iterator
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path

import pytest

from orchestrator.execution.process.fork_client import (
    MOST_BYTES,
    ForkedProcess,
    PipeChannel,
    output_of,
    tail_of,
)
from orchestrator.execution.process.messages import Reader, encoded
from orchestrator.trial import Report, TrialState

Pair = tuple[ForkedProcess, Connection]
REPORT = Report(step=1, epoch=1, samples=8, elapsed_s=0.1, metrics={"val_acc": 0.5}, blocks=[])


@pytest.fixture
def pipe() -> Iterator[Pair]:
    """A process as its supervisor sees it, and the process's end of the pipe."""
    ours, theirs = Pipe()
    process = object.__new__(ForkedProcess)
    process.channel, process._messages = ours, Reader(ours)
    yield process, theirs
    ours.close()
    theirs.close()


def test_what_was_sent_before_the_process_ended_is_received(pipe: Pair) -> None:
    PipeChannel(pipe[1]).report(REPORT)
    pipe[1].close()
    assert pipe[0].receive(0) == {"report": REPORT}
    assert pipe[0].receive(10.0) is None


def test_a_result_is_found_behind_reports(pipe: Pair) -> None:
    channel, result = PipeChannel(pipe[1]), {"state": TrialState.STOPPED, "reason": "asked to"}
    channel.report(REPORT)
    channel.send({"result": result})
    assert pipe[0].result_within(10.0) == result


@pytest.mark.parametrize("sent", [b"\0", b"\0\0\0\x09half", b"\0\xff\xff\xffbegun"])
def test_nothing_waits_for_the_rest_of_a_message(pipe: Pair, sent: bytes) -> None:
    os.write(pipe[1].fileno(), sent)
    assert pipe[0].receive(0.01) is None
    pipe[1].close()
    assert pipe[0].receive(10.0) is None


def test_a_message_that_comes_in_parts_is_received(pipe: Pair) -> None:
    content = encoded({"slice_end": 0.5})
    os.write(pipe[1].fileno(), len(content).to_bytes(4) + content[:5])
    assert pipe[0].receive(0) is None
    os.write(pipe[1].fileno(), content[5:])
    assert pipe[0].receive(0) == {"slice_end": 0.5}


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"a library printed this", "Expected `object`, got `int`"),
        (pickle.dumps({"report": REPORT}), "MessagePack data is malformed"),
        (encoded({"answer": 42}), "none of the keys of a message"),
        (encoded({"result": "done"}), "Expected `object`, got `str` - at `$.result`"),
        (encoded({"result": {"state": "won", "reason": ""}}), "Invalid enum value 'won'"),
        (encoded({"result": {"reason": ""}}), "missing required field `state`"),
        (encoded({"slice_end": "now"}), "Expected `float`, got `str`"),
        (encoded({"report": {**REPORT.__dict__, "step": -1.5}}), "Expected `int`, got `float`"),
        (encoded({"report": {**REPORT.__dict__, "blocks": [[1, 2]]}}), "of length 6"),
        (b"\x91" * 5000, "Expected `object`, got `array`"),
    ],
)
def test_a_message_of_a_wrong_shape_fails_the_trial(
    pipe: Pair, content: bytes, reason: str
) -> None:
    pipe[1].send_bytes(content)
    assert reason in failure_in(pipe)


def test_a_message_without_an_end_fails_the_trial(pipe: Pair) -> None:
    os.write(pipe[1].fileno(), b"Epoch 1: loss 0.3")
    assert "its length is 1,164,996,451 bytes" in failure_in(pipe)


def failure_in(pipe: Pair) -> str:
    result = pipe[0].result_within(10.0)
    assert result["state"] is TrialState.FAILED
    return result["reason"]


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
    supervisor.send("stop")
    assert channel.report(REPORT)
    assert channel.report(REPORT), "and it stays stopped"


@pytest.mark.parametrize(("answer", "is_stopped"), [("slice", False), ("stop", True)])
def test_a_slice_ends_until_the_supervisor_answers(
    pipe: Pair, answer: str, is_stopped: bool
) -> None:
    channel = PipeChannel(pipe[1])
    pipe[0].channel.send(answer)  # at once, so that the wait has an end
    channel.end_slice(0.25)
    assert pipe[0].receive(0) == {"slice_end": 0.25}
    assert channel.report(REPORT) is is_stopped


# -- output


def test_the_tail_of_an_output_is_its_last_lines(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_bytes(b"\n".join(b"%d" % n for n in range(30)) + b"\xff\n")
    lines = tail_of(log).splitlines()
    assert (len(lines), lines[0], lines[-1]) == (20, "10", "29\N{REPLACEMENT CHARACTER}")
    assert tail_of(tmp_path / "absent") == ""


def test_a_short_output_is_kept_whole(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_bytes(b"x" * 2 * MOST_BYTES)
    assert output_of(log) == "x" * 2 * MOST_BYTES
    log.write_bytes(b"\xff\n")
    assert output_of(log) == "\N{REPLACEMENT CHARACTER}\n"
    assert output_of(tmp_path / "absent") == ""


def test_of_a_long_output_the_beginning_and_the_end_are_kept(tmp_path: Path) -> None:
    """A sparse file of a TiB: a process that read all of it would run out of memory."""
    log = tmp_path / "log"
    with log.open("wb") as file:
        file.write(b"first line\n")
        file.truncate(2**40)
        file.seek(0, 2)
        file.write(b"\nlast line\n")
    text = output_of(log)
    assert text.startswith("first line\n")
    assert text.endswith("\nlast line\n")
    assert f"\n... {2**40 + 11 - 2 * MOST_BYTES:,} bytes are left out here ...\n" in text
    assert len(text) < 2 * MOST_BYTES + 100
    assert tail_of(log).splitlines()[-1] == "last line"
