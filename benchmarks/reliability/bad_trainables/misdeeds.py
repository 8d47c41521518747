"""What training functions of strangers do: a function for each act that needs one."""

from __future__ import annotations

import os
import resource
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import torch

from orchestrator import Run

COMPLETED: Final = ("completed",)
FAILED: Final = ("failed",)
INFEASIBLE: Final = ("infeasible",)
ANY: Final = ("completed", "failed", "infeasible", "stopped")
HOURS_S: Final = 7200


@dataclass(frozen=True, kw_only=True)
class Way:
    """What a training function does.

    Attributes:
        act: Does it.
        states: States that are right.
        says: A part of the reason.
    """

    act: Callable[[Run], Any]
    states: tuple[str, ...] = FAILED
    says: str = ""


class Odd(Exception):
    """Raises when it is written."""

    def __str__(self) -> str:
        raise RuntimeError("no text of this")

    __repr__ = __str__


class NotText(Exception):
    """Is written as no text."""

    def __str__(self) -> str:
        return 3  # type: ignore[return-value]


class Own(BaseException):
    """No ``Exception``."""


class Strict(Exception):
    """Cannot be pickled, copied or compared."""

    def __init__(self, one: object, *, two: object) -> None:
        super().__init__(lambda: (one, two))

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("not to be compared")

    __hash__ = None  # type: ignore[assignment]


class Float:
    """A number whose reading does something."""

    def __init__(self, read: Callable[[], Any]) -> None:
        self._read = read

    def __float__(self) -> float:
        return self._read()  # type: ignore[no-any-return]


def throw(error: BaseException | type[BaseException]) -> None:
    """Raise an error."""
    raise error


def throw_local() -> None:
    """Raise one of a class that cannot be pickled."""

    class Local(Exception):
        pass

    raise Local(threading.Lock())


def throw_chain(length: int) -> None:
    """Raise one with so many causes."""
    error: Exception = ValueError("the first")
    for number in range(length):
        link = RuntimeError(number)
        link.__cause__ = error
        error = link
    raise error


def throw_circle() -> None:
    """Raise one that is its cause's cause."""
    one, two = Strict(1, two=2), ValueError(2)
    one.__cause__, two.__cause__ = two, one
    raise one


def recurse() -> None:
    """Call itself without end."""
    recurse()


def recurse_in_c() -> None:
    """Do so until the stack is full."""
    sys.setrecursionlimit(10**7)
    recurse()


def reports(**figures: Any) -> Callable[[Run], None]:  # noqa: ANN401 - whatever it is
    """Return an act that reports figures."""
    return lambda run: run.report(**figures)


def reports_name(name: str) -> Callable[[Run], None]:
    """Return an act that reports a figure of this name."""
    return lambda run: run.report(**{name: 0.5, "val_acc": 0.5})


def reports_many(count: int) -> Callable[[Run], None]:
    """Return an act that reports so many figures."""
    return lambda run: run.report(**{f"figure_{n}": float(n) for n in range(count)})


def forking(times: int, then: Callable[[], Any]) -> None:
    """Fork so many processes, each of which does something."""
    for _ in range(times):
        if os.fork() == 0:
            then()
            os._exit(0)


def fork_and_go_on(_run: Run) -> None:
    """Fork; both processes come to the end of the training."""
    os.fork()  # both come to the end of the training


def daemon(_run: Run) -> None:
    """Leave a process behind, as daemons do."""
    if os.fork() == 0:
        os.setsid()
        forking(1, lambda: time.sleep(HOURS_S))
        os._exit(0)


def without_cwd(_run: Run) -> None:
    """Remove the current folder."""
    folder = tempfile.mkdtemp()
    os.chdir(folder)
    Path(folder).rmdir()


def write_to_all(_run: Run) -> None:
    """Write to every open file and pipe."""
    for descriptor in range(3, 64):
        try:
            os.write(descriptor, b"\x00\x00\x00\x05junk!" * 3)
        except OSError:
            continue


def close_others(_run: Run) -> None:
    """Close all but the standard streams."""
    os.closerange(3, 256)


def reuse_descriptors(run: Run) -> None:
    """Close them, and open others under their numbers."""
    os.closerange(3, 256)
    for _ in range(64):
        os.open(os.devnull, os.O_RDWR)
    run.report(val_acc=0.5)


def write(text: str | bytes, times: int) -> None:
    """Write a text many times to the output."""
    stream = sys.stdout.buffer
    for _ in range(times):
        stream.write(text.encode() if isinstance(text, str) else text)
    stream.flush()


def print_for_ever() -> None:
    """Print without end."""
    while True:
        print("more", flush=True)
        time.sleep(0.01)


def limited(what: int, value: int) -> None:
    """Set a limit of the process."""
    resource.setrlimit(what, (value, resource.getrlimit(what)[1]))


def in_thread(act: Callable[[], Any]) -> None:
    """Do something in a thread."""
    threading.Thread(target=act).start()
    time.sleep(0.05)


def ignore_all(_run: Run) -> None:
    """Ignore all signals."""
    for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
        signal.signal(number, signal.SIG_IGN)


def put(holder: object, name: str, value: object) -> None:
    """Set an attribute of something that others use."""
    setattr(holder, name, value)


def clear_modules(_run: Run) -> None:
    """Forget all modules."""
    sys.modules.clear()


def nested_loops(run: Run) -> None:
    """Loop over batches within a loop over batches."""
    for _ in run.batches([1, 2], samples=lambda _: 1):
        for _ in run.batches([1, 2], samples=lambda _: 1):
            pass


def within_a_step(run: Run) -> None:
    """Report in the middle of a step."""
    for _ in run.batches([1, 2], samples=lambda _: 1):
        run.report(val_acc=0.5)


def loader_that_raises(run: Run) -> None:
    """Loop over a loader that fails."""

    def loader() -> Any:  # noqa: ANN401 - a generator
        yield 1
        raise OSError(5, "Input/output error", "/data/\ud800")

    for _ in run.batches(loader(), samples=lambda _: 1):
        pass


class Dying(torch.utils.data.Dataset[int]):
    """Items, one of which ends its process."""

    def __len__(self) -> int:
        return 8

    def __getitem__(self, index: int) -> int:
        if index == 5:
            os._exit(3)
        return index


def worker_that_dies(run: Run) -> None:
    """Loop over a loader whose worker ends."""
    loader = torch.utils.data.DataLoader(Dying(), num_workers=1)
    for _ in run.batches(loader, samples=len):
        pass


def many_reports(run: Run) -> None:
    """Report 3,000 times."""
    for number in range(3000):
        run.report(val_acc=0.5, noise=float(number))


def counts_samples(value: Any) -> Callable[[Run], None]:  # noqa: ANN401 - whatever it is
    """Return an act whose batches have this number of samples."""

    def act(run: Run) -> None:
        for _ in run.batches([1, 2, 3], samples=lambda _: value):
            pass

    return act


def signalled(number: int) -> Way:
    """Return an act that sends itself a signal."""
    return Way(act=lambda _: (os.kill(os.getpid(), number), time.sleep(5)), states=ANY)
