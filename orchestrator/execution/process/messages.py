"""Messages of a training process: their shapes, and their one reader, which trusts nothing.

A message is framed as :class:`~multiprocessing.connection.Connection` frames bytes: four of its
length, then msgpack. Nothing in it can run as code, as a pickle could.
"""

import os
import select
import time
from collections.abc import Mapping, Sequence
from multiprocessing.connection import Connection
from typing import Annotated, Any, Final, Required, TypedDict

import msgspec

from orchestrator.trial import BlockRow, Report, TrialState

MOST_MESSAGE_BYTES: Final = 64 * 2**20
"""Longest message. One of 100,000 blocks of steps has 4 MiB."""
_HEAD: Final = 4
_READ: Final = 2**18


class Figures(TypedDict, total=False):
    """What a process measured.

    Attributes:
        metrics: Figures by name.
        tags: Texts by name.
        blocks: Steps timed since the last report.
    """

    metrics: Mapping[str, int | float]
    tags: Mapping[str, str]
    blocks: Sequence[BlockRow]


class Result(Figures, total=False):
    """How a training ended: :func:`~orchestrator.execution.process.failures.failure`, and figures.

    Attributes:
        state, reason, at, again, lost_a_rank, failed_at: See there.
        restored_epochs: Epochs that were found done in a checkpoint.
        notes: Texts for the user.
    """

    state: Required[TrialState]
    reason: Required[str]
    at: str
    again: bool
    lost_a_rank: bool
    failed_at: float
    restored_epochs: Annotated[int, msgspec.Meta(ge=0)]
    notes: Sequence[str]


class Message(TypedDict, total=False):
    """A message: ``report``, ``slice_end`` (progress), ``result`` or ``ceilings``.

    Attributes:
        more: With a result: the ceilings follow.
    """

    report: Report
    slice_end: Annotated[float, msgspec.Meta(ge=0)]
    result: Result
    more: bool
    ceilings: Figures


_DECODER: Final = msgspec.msgpack.Decoder(Message)
_ENCODER: Final = msgspec.msgpack.Encoder(enc_hook=float)


def encoded(message: Mapping[str, Any]) -> bytes:
    """Return a message as bytes; a number of a library, such as numpy's, as a float."""
    return _ENCODER.encode(message)


class Reader:
    """Reads the messages of a process that may stop amid one, or write anything else."""

    def __init__(self, connection: Connection) -> None:
        """Read from ``connection``, which blocks no more."""
        self._connection = connection
        self._read = bytearray()
        os.set_blocking(connection.fileno(), False)

    def next(self, timeout_s: float) -> Message | None:
        """Return the next whole message, or None if none comes in time.

        Raises:
            ValueError: It is too long, or has no shape of a message.
            OSError: The connection is closed.
        """
        deadline = time.monotonic() + timeout_s
        poll = select.poll()  # select() takes no descriptor above 1023
        poll.register(self._connection.fileno(), select.POLLIN)
        while (message := self._whole()) is None:
            if not poll.poll(max(deadline - time.monotonic(), 0.0) * 1000):
                return None
            if not (new := os.read(self._connection.fileno(), _READ)):
                raise EOFError
            self._read += new
        return message

    def _whole(self) -> Message | None:
        """Take the first message from what was read, if all of it was."""
        size = int.from_bytes(self._read[:_HEAD], "big")
        if size > MOST_MESSAGE_BYTES:
            raise ValueError(f"its length is {size:,} bytes")
        if len(self._read) < _HEAD + size:
            return None
        content = self._read[_HEAD : _HEAD + size]
        del self._read[: _HEAD + size]
        message = _DECODER.decode(content)
        if not message.keys() & {"report", "slice_end", "result", "ceilings"}:
            raise ValueError("it has none of the keys of a message")
        return message
