"""What listens at an address of a cluster: Ray, something else, or nobody who would answer.

To connect is not enough: the kernel does that for a process that is stopped, too.
"""

from __future__ import annotations

import os
import socket
from typing import Final

_HEADER_BYTES, _KIND, _SETTINGS = 9, 3, 4
"""Length of a header of HTTP/2, the place of its kind, and the kind that each side begins with."""
_PREFACE: Final = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes([0, 0, 0, _SETTINGS, 0, 0, 0, 0, 0])
"""The beginning of a connection by HTTP/2, which gRPC and so Ray speaks (RFC 9113, 3.4)."""


def is_ray(address: tuple[str, int], timeout_s: float) -> bool:
    """Return True if what listens at an address answers as Ray does.

    Args:
        address: Host and port.
        timeout_s: Longest wait for the connection, and for each part of the answer.

    Raises:
        OSError: Nothing listens there, or it does not answer in time.
    """
    answer = b""
    with socket.create_connection(address, timeout=timeout_s) as connection:
        if os.environ.get("RAY_USE_TLS", "").lower() in ("1", "true"):  # as Ray reads it
            return True  # it answers no other question
        connection.sendall(_PREFACE)
        while len(answer) < _HEADER_BYTES and (more := connection.recv(_HEADER_BYTES)):
            answer += more
    return len(answer) >= _HEADER_BYTES and answer[_KIND] == _SETTINGS
