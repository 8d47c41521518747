"""``python -m orchestrator`` where the kernel refuses to bind processes to cores.

As in a container whose seccomp profile has no ``sched_setaffinity``: by a filter of the same kind.
"""

from __future__ import annotations

import ctypes
import platform
import runpy
import struct

AVAILABLE = platform.machine() == "x86_64"

_PR_SET_SECCOMP, _PR_SET_NO_NEW_PRIVS, _FILTER = 22, 38, 2
_LOAD, _JUMP_IF_EQUAL, _RETURN = 0x20, 0x15, 0x06
_SCHED_SETAFFINITY, _X86_64 = 203, 0xC000003E
_ALLOW, _REFUSE = 0x7FFF0000, 0x00050001  # the latter with EPERM

_PROGRAM = (
    (_LOAD, 0, 0, 4),
    (_JUMP_IF_EQUAL, 0, 3, _X86_64),
    (_LOAD, 0, 0, 0),
    (_JUMP_IF_EQUAL, 0, 1, _SCHED_SETAFFINITY),
    (_RETURN, 0, 0, _REFUSE),
    (_RETURN, 0, 0, _ALLOW),
)


def refuse_binding() -> None:
    """Refuse it to this process and all that it starts, for good."""
    filters = b"".join(struct.pack("HBBI", *line) for line in _PROGRAM)
    buffer = ctypes.create_string_buffer(filters)
    program = struct.pack("HxxxxxxP", len(_PROGRAM), ctypes.addressof(buffer))
    libc = ctypes.CDLL(None, use_errno=True)
    assert libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
    done = libc.prctl(_PR_SET_SECCOMP, _FILTER, ctypes.create_string_buffer(program), 0, 0)
    assert done == 0, ctypes.get_errno()


if __name__ == "__main__":
    refuse_binding()
    runpy.run_module("orchestrator", run_name="__main__")
