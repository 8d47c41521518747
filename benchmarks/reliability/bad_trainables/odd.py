"""Further training functions of strangers: errors, hooks and loaders that are odd."""

from __future__ import annotations

import asyncio
import atexit
import ctypes
import gc
import io
import itertools
import json
import os
import signal
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import suppress
from multiprocessing import shared_memory
from typing import Any, Final

import torch

from benchmarks.reliability.bad_trainables.misdeeds import (
    ANY,
    COMPLETED,
    HOURS_S,
    Own,
    Strict,
    Way,
    forking,
    in_thread,
    put,
    reports,
    throw,
)
from orchestrator import Phase, Run


class Text(str):
    """A text of a class of its own."""

    __slots__ = ()


class Sized:
    """A loader of a length that is none."""

    def __init__(self, length: Any) -> None:  # noqa: ANN401 - whatever it is
        self._length = length

    def __len__(self) -> int:
        if self._length is None:
            throw(RuntimeError("no length"))
        return int(self._length)

    def __iter__(self) -> Iterator[int]:
        return iter([1, 2, 3])


class Lying(Exception):
    """Says that it is of another class."""

    def __getattribute__(self, name: str) -> Any:  # noqa: ANN401 - any attribute
        if name == "__class__":
            raise RuntimeError("no class")
        return super().__getattribute__(name)


class Finder:
    """Refuses every import."""

    def find_spec(self, *_: object) -> None:
        """Raise."""
        raise RuntimeError("no imports")


class Unfinished:
    """Raises when it is taken down."""

    def __del__(self) -> None:
        raise RuntimeError("not to be taken down")


def with_fields(error: BaseException, **fields: Any) -> BaseException:  # noqa: ANN401 - anything
    """Return an error some fields of which are set."""
    for name, value in fields.items():
        setattr(error, name, value)
    return error


def nested_groups(depth: int) -> BaseException:
    """Return a group of a group of a group."""
    error: Exception = ValueError("the innermost")
    for _ in range(depth):
        error = ExceptionGroup("around it", [error])
    return error


def by_its_place(run: Any) -> None:  # noqa: ANN401 - a run, called as its type forbids
    """Report a figure without a name."""
    run.report(0.5)


def grow(run: Run) -> None:
    """Report another figure each time."""
    for number in range(1500):
        run.report(**{f"figure_{number}": 1.0})


def loops(loader: Callable[[], Any], samples: Any = len) -> Callable[[Run], None]:  # noqa: ANN401
    """Return an act that goes through a loader."""

    def act(run: Run) -> None:
        for _ in run.batches(loader(), samples=samples):
            pass

    return act


def breaks_off(run: Run) -> None:
    """Leave a loop that would not have ended."""
    for number in run.batches(itertools.count(), samples=lambda _: 8):
        if number > 50:
            break


def swallow(run: Run) -> None:
    """Go on whatever is raised."""
    for _ in range(5):
        with suppress(BaseException):
            run.report(val_acc=2.0)


def named(name: str) -> type[Exception]:
    """Return a class of errors of that name."""
    return type(name, (Exception,), {})


def environment_too_large(_run: Run) -> None:
    """Start a program with more variables than a kernel takes."""
    os.environ["HUGE"] = "x" * 3_000_000
    subprocess.run(["true"], check=True)


def without_hook() -> None:
    """Raise where nothing tells of it."""
    put(sys, "excepthook", 3)
    throw(ValueError("x"))


def in_memory() -> io.StringIO:
    """Return an output that is kept in memory, and put it in the place of the usual one."""
    stream = io.StringIO()
    put(sys, "stdout", stream)
    return stream


def share_memory(_run: Run) -> None:
    """Leave shared memory to whoever cleans up."""
    shared_memory.SharedMemory(create=True, size=4096)


_FIGURES: Final[dict[str, Way]] = {
    "a loss of 1e308": Way(act=reports(train_loss=1e308), states=COMPLETED),
    "a loss of -1e308": Way(act=reports(train_loss=-1e308), states=COMPLETED),
    "an own figure of 1e308": Way(act=reports(noise=1e308), states=COMPLETED),
    "an own figure of nan": Way(act=reports(noise=float("nan")), states=ANY),
    "an own figure of -inf": Way(act=reports(noise=float("-inf")), states=ANY, says="noise"),
    "val_acc a rounding above 1": Way(act=reports(val_acc=1 + 1e-7), states=COMPLETED),
    "val_acc a rounding below 0": Way(act=reports(val_acc=-1e-9), states=COMPLETED),
    "val_acc of 1.01": Way(act=reports(val_acc=1.01), says="val_acc"),
    "names that grow": Way(act=grow, says="names of figures"),
    "a name of another class": Way(
        act=lambda run: run.report(**{Text("val_acc"): 0.5}), states=COMPLETED
    ),
    "a figure by its place": Way(act=by_its_place, says="TypeError"),
    "a function's result": Way(act=reports(val_acc=lambda: 0.5), says="val_acc"),
    "a coroutine": Way(act=lambda run: reports(val_acc=asyncio.sleep(0))(run), says="val_acc"),
    "a set": Way(act=reports(val_acc={0.5}), says="val_acc"),
    "a sparse tensor": Way(act=reports(val_acc=torch.ones(1).to_sparse()), states=ANY),
    "a meta tensor": Way(act=reports(val_acc=torch.ones(1, device="meta")), states=ANY),
}

_ERRORS: Final[dict[str, Way]] = {
    name: Way(act=lambda _, error=error: throw(error()))  # type: ignore[misc]
    for name, error in {
        "a syntax error of odd fields": lambda: with_fields(
            SyntaxError("odd"), lineno="x", offset=[], text=3, filename=b"\xff", end_offset={}
        ),
        "a syntax error without fields": lambda: SyntaxError(),
        "notes that are none": lambda: with_fields(ValueError("noted"), __notes__=3),
        "notes of objects": lambda: with_fields(ValueError("noted"), __notes__=[object(), None]),
        "notes of 10 MB": lambda: with_fields(ValueError("noted"), __notes__=["x" * 10**7]),
        "groups in groups": lambda: nested_groups(2000),
        "a group of a base": lambda: BaseExceptionGroup("of base", [KeyboardInterrupt(), Own()]),
        "a group of 5000": lambda: ExceptionGroup("many", [ValueError(n) for n in range(5000)]),
        "a number too long": lambda: ValueError(10**5000),
        "a class of a long name": lambda: named("E" * 100_000)("x"),
        "a class of two lines": lambda: named("Two\nLines\x1b[2J")("x"),
        "a class of half a pair": lambda: named("Half")("\ud800"),
        "a class that lies": lambda: Lying("x"),
        "an import error of odd fields": lambda: with_fields(ImportError("x"), name=3, path=b""),
        "a decoding error": lambda: UnicodeDecodeError("utf-8", b"\xff" * 10**6, 0, 9**9, "bad"),
        "an encoding error": lambda: UnicodeEncodeError("utf-8", "\ud800", 0, 1, "no surrogates"),
        "a key of two lines": lambda: KeyError("a\nb\nTraceback"),
        "an OSError of odd fields": lambda: OSError(10**9, b"\xff", 3, None, object()),
        "a strict cause": lambda: with_fields(ValueError("x"), __cause__=Strict(1, two=2)),
        "a name error of odd fields": lambda: with_fields(NameError("x"), name=object()),
        "an attribute of an odd object": lambda: with_fields(
            AttributeError("x"), name=3, obj=Strict(1, two=2)
        ),
        "a stop of async": lambda: StopAsyncIteration(),
        "an end of file": lambda: EOFError(),
        "a broken pipe": lambda: BrokenPipeError(32, "Broken pipe"),
        "a connection reset": lambda: ConnectionResetError(),
        "a time-out": lambda: TimeoutError(),
    }.items()
}

_ENDS: Final[dict[str, Way]] = {
    "exit of -1": Way(act=lambda _: sys.exit(-1), says="SystemExit: -1"),
    "exit of 2**40": Way(act=lambda _: sys.exit(2**40), says="SystemExit"),
    "exit of True": Way(act=lambda _: sys.exit(True), says="SystemExit"),
    "exit of 10 MB": Way(act=lambda _: sys.exit("x" * 10**7), says="SystemExit"),
    "os._exit of 256": Way(act=lambda _: os._exit(256), says="code 0"),
    "its group is ended": Way(act=lambda _: os.killpg(0, signal.SIGTERM), states=ANY),
    "its group is killed": Way(act=lambda _: os.killpg(0, signal.SIGKILL), states=ANY),
    "an exit handler that ends": Way(act=lambda _: atexit.register(os._exit, 7), states=ANY),
    "an exit handler that raises": Way(act=lambda _: atexit.register(throw, Own()), states=ANY),
    "an exit handler that reports": Way(
        act=lambda run: atexit.register(run.report, val_acc=0.9), states=ANY
    ),
    "reads what is typed": Way(act=lambda _: input("go on? "), says="EOFError"),
    "swallows what is raised": Way(act=swallow, states=ANY),
}

_HOOKS: Final[dict[str, Way]] = {
    name: Way(act=act, states=ANY)
    for name, act in {
        "a tracer that raises": lambda _: sys.settrace(lambda *_: throw(Own())),
        "a profiler that raises": lambda _: sys.setprofile(lambda *_: throw(Own())),
        "an audit hook that raises": lambda _: sys.addaudithook(lambda *_: throw(Own())),
        "an import hook that raises": lambda _: put(sys, "meta_path", [Finder(), *sys.meta_path]),
        "a collector's hook that raises": lambda _: gc.callbacks.append(lambda *_: throw(Own())),
        "a destructor that raises": lambda _: put(sys, "unfinished", Unfinished()),
        "no hook of errors": lambda _: without_hook(),
        "no hook of what cannot be raised": lambda _: put(sys, "unraisablehook", 3),
        "warnings are errors": lambda _: warnings.simplefilter("error"),
        "no json": lambda _: put(json, "dumps", None),
        "no getpid": lambda _: put(os, "getpid", None),
        "another pid": lambda _: put(os, "getpid", lambda: 1),
        "a clock that goes back": lambda _: put(time, "time", lambda: -1e9),
        "a clock of text": lambda _: put(time, "time", lambda: "noon"),
        "a counter that goes back": lambda _: put(
            time, "perf_counter", lambda: -time.monotonic()
        ),
        "a umask of 777": lambda _: os.umask(0o777),
        "another user": lambda _: os.setuid(65534) if os.geteuid() == 0 else None,
        "a huge environment": environment_too_large, "shared memory left": share_memory,
        "holds the interpreter": lambda _: ctypes.PyDLL(None).sleep(3),
        "its output goes nowhere": lambda _: os.dup2(os.open(os.devnull, os.O_RDONLY), 1),
        "its output is full": lambda _: os.dup2(os.open("/dev/full", os.O_WRONLY), 1),
        "its output is a text": lambda _: print("lost", file=in_memory()),
        "a loop of its own": lambda _: asyncio.run(asyncio.sleep(0.01)),
        "forks in a thread": lambda _: in_thread(lambda: forking(1, lambda: time.sleep(0.1))),
        "a timer that reports": lambda run: threading.Timer(
            0.02, lambda: run.report(val_acc=0.9)
        ).start(),
        "a timer without end": lambda _: threading.Timer(HOURS_S, print).start(),
        "breaks off": breaks_off, "a phase in a phase": lambda run: [
            run.phase(Phase.FORWARD).__enter__(), run.phase(Phase.BACKWARD).__enter__()
        ],
        "a loader of length -1": loops(lambda: Sized(-1), lambda _: 1),
        "a loader of length 10**30": loops(lambda: Sized(10**30), lambda _: 1),
        "a loader without a length": loops(lambda: Sized(None), lambda _: 1),
        "a loader that is a number": loops(lambda: 3),
        "a mapping for a loader": loops(lambda: {"a": 1}),
        "samples of True": loops(lambda: [1], lambda _: True),
        "samples of half": loops(lambda: [1], lambda _: 7.5),
        "samples of 0": loops(lambda: [1], lambda _: 0),
        "samples of 2**63": loops(lambda: [1], lambda _: 2**63),
        "samples of inf": loops(lambda: [1], lambda _: float("inf")),
        "samples of a list": loops(lambda: [1], lambda _: [8]),
        "samples that raise": loops(lambda: [1], lambda _: throw(Own())),
        "samples that are a number": loops(lambda: [1], 8),
        "a first loss of nan": lambda run: run.first_loss(float("nan")),
        "a first loss of two": lambda run: run.first_loss(torch.ones(2)),
        "a checkpoint of a function": lambda run: run.checkpoint({"f": lambda: 3}),
        "a checkpoint of itself": lambda run: run.checkpoint({"run": run}),
    }.items()
}  # fmt: skip

ODD_WAYS: Final[dict[str, Way]] = {**_FIGURES, **_ERRORS, **_ENDS, **_HOOKS}
"""Ways by their names."""
