"""``ray.init`` in a thread of its own: within C++ it may wait for minutes, whatever happens."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable
from typing import Final

LIMIT_S: Final = 180.0
"""Ray has come up by then, or is waited for no longer."""

_ROUND_S: Final = 0.02
_ASK_S: Final = 0.5


def init_apart(init: Callable[[], None], refusal: Callable[[], str]) -> Callable[[], None]:
    """Run ``init`` in a thread, and wait for it; a signal is acted on meanwhile.

    The thread lives on: the kernel ends Ray's processes when the one ends that has started them.

    Args:
        init: Calls ``ray.init``.
        refusal: Returns why it is to be waited for no longer, or an empty string. It is asked now
            and then.

    Returns:
        A function that ends the thread.

    Raises:
        TimeoutError: Ray has not come up in time, or is waited for no longer.
        Exception: What ``init`` has raised.
    """
    done, ended = threading.Event(), threading.Event()
    raised: list[BaseException] = []

    def run() -> None:
        try:
            init()
        except BaseException as error:  # noqa: BLE001 - the waiting thread raises it again
            raised.append(error)
        done.set()
        if not raised:
            ended.wait()

    thread = threading.Thread(target=run, name="ray", daemon=True)
    thread.start()
    _wait(done, refusal)
    if raised:
        raise raised[0] if isinstance(raised[0], Exception) else RuntimeError(str(raised[0]))

    def end() -> None:
        ended.set()
        thread.join()

    return end


def _wait(done: threading.Event, refusal: Callable[[], str]) -> None:
    is_main = threading.current_thread() is threading.main_thread()
    handler = signal.getsignal(signal.SIGTERM) if is_main else None
    deadline, ask_at = time.monotonic() + LIMIT_S, 0.0
    while True:
        is_done = done.wait(_ROUND_S)
        if handler is not None:
            # Ray sets one of its own meanwhile, in C++, which aborts the process.
            signal.signal(signal.SIGTERM, handler)
        if is_done:
            return
        if (now := time.monotonic()) >= deadline:
            raise TimeoutError(f"timed out after {LIMIT_S:g} s")
        if now >= ask_at:
            ask_at = now + _ASK_S
            if reason := refusal():
                raise TimeoutError(reason)
