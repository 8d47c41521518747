"""Low priority: a thread that takes no time from trials.

``SCHED_IDLE`` gives a thread only the time that no other thread wants. On a kernel that groups
processes by session (autogroup, the default) it counts within the session: beside a busy trial an
idle process in a session of its own took half a core, and none once its group was nice
too. So both are set. A user without privileges cannot take ``SCHED_IDLE`` back from a
thread; what must not wait is therefore done by another thread.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

_AUTOGROUP = Path("/proc/self/autogroup")


def lower(native_id: int) -> None:
    """Make a thread of this process, and the process's session, yield to all others."""
    with suppress(OSError):
        _AUTOGROUP.write_text("19")
    try:
        os.sched_setscheduler(native_id, os.SCHED_IDLE, os.sched_param(0))
    except OSError:
        # On Linux niceness, too, is a thread's, and goes by its id.
        os.setpriority(os.PRIO_PROCESS, native_id, 19)


def restore(native_id: int) -> None:
    """Take back :func:`lower`, for the thread only where that is permitted."""
    with suppress(OSError):
        _AUTOGROUP.write_text("0")
    with suppress(OSError):
        os.sched_setscheduler(native_id, os.SCHED_OTHER, os.sched_param(0))
        os.setpriority(os.PRIO_PROCESS, native_id, 0)
