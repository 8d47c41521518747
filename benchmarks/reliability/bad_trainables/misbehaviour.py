"""Training functions of strangers: what each does, once in a trial, and how the trial may end.

Imported by the sweep of :mod:`benchmarks.reliability.bad_trainables`.
"""

from __future__ import annotations

import asyncio
import atexit
import builtins
import ctypes
import decimal
import fractions
import gc
import multiprocessing
import os
import resource
import signal
import subprocess
import sys
import threading
import time
import warnings
from typing import Final

import numpy as np
import pandas as pd
import torch

from benchmarks.reliability.bad_trainables.misdeeds import (
    ANY,
    COMPLETED,
    HOURS_S,
    INFEASIBLE,
    Float,
    NotText,
    Odd,
    Own,
    Strict,
    Way,
    clear_modules,
    close_others,
    counts_samples,
    daemon,
    fork_and_go_on,
    forking,
    ignore_all,
    in_thread,
    limited,
    loader_that_raises,
    many_reports,
    nested_loops,
    print_for_ever,
    put,
    recurse,
    recurse_in_c,
    reports,
    reports_many,
    reports_name,
    reuse_descriptors,
    signalled,
    throw,
    throw_chain,
    throw_circle,
    throw_local,
    within_a_step,
    without_cwd,
    worker_that_dies,
    write,
    write_to_all,
)
from benchmarks.reliability.bad_trainables.odd import ODD_WAYS
from orchestrator import Phase
from orchestrator.measurement.run import TrialStopped

_FIGURES: Final[dict[str, Way]] = {
    **{
        f"val_acc of {name}": Way(act=reports(val_acc=value), states=COMPLETED)
        for name, value in {
            "numpy": np.float32(0.5), "an array": np.array(0.5), "a tensor": torch.tensor(0.5),
            "a half": torch.tensor(0.5, dtype=torch.bfloat16), "a decimal": decimal.Decimal("0.5"),
            "a fraction": fractions.Fraction(1, 2), "a switch": True, "an int": 1,
            "an unsigned": np.uint8(1), "with a gradient": torch.tensor(0.5, requires_grad=True),
            "a tiny one": 5e-324, "minus zero": -0.0, "of shape 1": torch.tensor([0.5]),
            "of shape 1, 1": np.array([[0.5]]), "a series": pd.Series([0.5])[0],
        }.items()
    },
    **{
        f"val_acc of {name}": Way(act=reports(val_acc=value), says="val_acc")
        for name, value in {
            "a text": "0.5", "bytes": b"0.5", "None": None, "a list": [0.5], "a mapping": {"a": 1},
            "complex": 1j, "two": torch.tensor([0.1, 0.2]), "none": np.array([]),
            "an object": object(), "NA": pd.NA, "NaT": pd.NaT, "a huge one": 10**400,
            "below 0": -0.1, "percent": 93.4, "a function": max, "a class": float,
            "numpy's complex": np.complex64(1 + 2j), "torch's complex": torch.tensor(1j),
            "a date": np.datetime64("2020"), "numpy's text": np.str_("0.5"),
            "a frame": pd.DataFrame({"a": [0.5]}), "a generator": (x for x in (0.5,)),
        }.items()
    },
    "val_acc of inf": Way(act=reports(val_acc=float("inf")), states=INFEASIBLE, says="inf"),
    "val_acc of nan": Way(act=reports(val_acc=float("nan")), states=ANY),
    "a loss of nan": Way(
        act=reports(train_loss=float("nan")), states=INFEASIBLE, says="train_loss"
    ),
    "a float that raises": Way(
        act=reports(val_acc=Float(lambda: throw(KeyError("x")))), says="KeyError"
    ),
    "a float that ends": Way(act=reports(val_acc=Float(lambda: sys.exit(3)))),
    "a float of text": Way(act=reports(val_acc=Float(lambda: "x")), says="val_acc"),
    "900 figures": Way(act=reports_many(900), states=COMPLETED),
    "3000 figures": Way(act=reports_many(3000), says="names of figures"),
    "a mapping": Way(act=lambda run: run.report({"val_acc": 0.5})),
    "twice": Way(act=lambda run: [run.report(val_acc=0.5) for _ in range(2)], states=COMPLETED),
    "3000 reports": Way(act=many_reports, states=COMPLETED),
    "in a thread": Way(act=lambda run: in_thread(lambda: run.report(val_acc=0.5)), states=ANY),
    "after the end": Way(act=lambda run: [*run.epochs(), run.report(val_acc=0.5)], states=ANY),
    "nothing": Way(act=lambda run: run.report(), states=COMPLETED),
    "within a step": Way(act=within_a_step, states=ANY),
    **{
        f"a figure named {name[:20]!r}": Way(act=reports_name(name), states=ANY)
        for name in (
            "a/b", "a b", "\U0001f600", "", " ", "x" * 5000, "\ud800", "a\nb", "params.way",
            "trial_id", "state", "step", "epoch", "samples", "elapsed_s", "samples_per_s", "wall_s",
            "metrics.val_acc", "tags.x", "metrics.", "../x", "/x", "__class__", "%s",
            "<script>alert(1)</script>", "a=b", "a,b", '"', "self", "VAL_ACC", "val_acc ", ".",
            "..", "a//b", "a:b", "a\\b", "\x1b[2J", "\u202e", "test_acc", "cost", "reason", "way",
            "loss", "group", "0", "None",
        )
    },
}  # fmt: skip

_ERRORS: Final[dict[str, Way]] = {
    "an error without text": Way(act=lambda _: throw(Odd()), says="Odd"),
    "an error of no text": Way(act=lambda _: throw(NotText()), says="NotText"),
    "an own base": Way(act=lambda _: throw(Own("own words")), says="own words"),
    "a strict one": Way(act=lambda _: throw(Strict(1, two=2)), says="Strict"),
    "a circle of causes": Way(act=lambda _: throw_circle(), says="Strict"),
    "a chain of 3000": Way(act=lambda _: throw_chain(3000), says="RuntimeError"),
    "a local class": Way(act=lambda _: throw_local(), says="Local"),
    "10 MB of text": Way(act=lambda _: throw(ValueError("x" * 10**7)), says="ValueError"),
    "half a pair": Way(act=lambda _: throw(ValueError("\ud800 \x00 \x1b[2J")), says="ValueError"),
    "several": Way(
        act=lambda _: throw(ExceptionGroup("of two", [ValueError(1), OSError(2)])), says="of two"
    ),
    "an interrupt": Way(act=lambda _: throw(KeyboardInterrupt), says="KeyboardInterrupt"),
    "a cancelled task": Way(act=lambda _: throw(asyncio.CancelledError), says="CancelledError"),
    "a generator's end": Way(act=lambda _: throw(GeneratorExit), says="GeneratorExit"),
    "an iterator's end": Way(act=lambda _: throw(StopIteration), says="StopIteration"),
    "exit": Way(act=lambda _: sys.exit(), says="SystemExit"),
    "exit 0": Way(act=lambda _: sys.exit(0), says="SystemExit"),
    "exit 2": Way(act=lambda _: sys.exit(2), says="SystemExit: 2"),
    "exit with a text": Way(act=lambda _: sys.exit("no GPU here"), says="no GPU here"),
    "exit with an object": Way(act=lambda _: sys.exit({})),
    "stopped by itself": Way(act=lambda _: throw(TrialStopped), states=ANY),
    "recursion": Way(act=lambda _: recurse(), says="RecursionError"),
    "recursion in C": Way(act=lambda _: recurse_in_c(), states=ANY),
    "no memory": Way(act=lambda _: throw(MemoryError), states=INFEASIBLE, says="out of memory"),
    "an array too large": Way(
        act=lambda _: np.ones(10**14), states=INFEASIBLE, says="out of memory"
    ),
    "a tensor too large": Way(
        act=lambda _: torch.ones(10**14), states=INFEASIBLE, says="out of memory"
    ),
    "os._exit 0": Way(act=lambda _: os._exit(0), says="exited with code 0"),
    "os._exit 3": Way(act=lambda _: os._exit(3), says="code 3"),
    "abort": Way(act=lambda _: os.abort(), says="signal 6"),
    "a null pointer": Way(act=lambda _: ctypes.string_at(0), says="signal 11"),
    **{
        f"signal {number}": signalled(number)
        for number in (1, 2, 3, 4, 7, 8, 9, 10, 12, 13, 14, 15, 24, 25, 31)
    },
    "a loader that raises": Way(act=loader_that_raises, says="Input/output"),
    "a worker that dies": Way(act=worker_that_dies),
    "a failed assertion": Way(act=lambda _: throw(AssertionError), says="AssertionError"),
    "an import": Way(act=lambda _: __import__("no_such_module"), says="no_such_module"),
    "a warning": Way(
        act=lambda _: [warnings.simplefilter("error"), warnings.warn("as an error", stacklevel=1)],
        says="as an error",
    ),
}  # fmt: skip

_MISCHIEF: Final[dict[str, Way]] = {
    name: Way(act=act, states=ANY)
    for name, act in {
        "no current folder": without_cwd, "fds 0 to 2 closed": lambda _: os.closerange(0, 3),
        "other fds closed": close_others, "fds reused": reuse_descriptors,
        "junk in all fds": write_to_all, "stdout is None": lambda _: put(sys, "stdout", None),
        "stdout is 3": lambda _: put(sys, "stdout", 3),
        "stderr is None": lambda _: put(sys, "stderr", None),
        "stderr is closed": lambda _: sys.stderr.close(), "all signals ignored": ignore_all,
        "an alarm": lambda _: signal.alarm(1),
        "no more files": lambda _: limited(resource.RLIMIT_NOFILE, 4),
        "no more memory": lambda _: limited(resource.RLIMIT_AS, 2**20),
        "no more processes": lambda _: limited(resource.RLIMIT_NPROC, 0),
        "files of no size": lambda _: limited(resource.RLIMIT_FSIZE, 0),
        "no CPU time": lambda _: limited(resource.RLIMIT_CPU, 1),
        "no environment": lambda _: os.environ.clear(),
        "no import path": lambda _: sys.path.clear(), "no modules": clear_modules,
        "no len": lambda _: put(builtins, "len", None),
        "no print": lambda _: put(builtins, "print", None),
        "no time": lambda _: put(time, "perf_counter", None),
        "time stands": lambda _: put(time, "monotonic", lambda: 0.0),
        "no collection": lambda _: gc.disable(),
        "shallow recursion": lambda _: sys.setrecursionlimit(60),
        "numpy raises": lambda _: np.seterr(all="raise"),
        "other floats": lambda _: torch.set_default_dtype(torch.float64),
        "999 threads": lambda _: torch.set_num_threads(999),
        "a low priority": lambda _: os.nice(19),
        "other cores": lambda _: os.sched_setaffinity(0, {0}),
        "a group of its own": lambda _: os.setpgid(0, 0),
        "50 children": lambda _: forking(50, lambda: time.sleep(HOURS_S)),
        "both go on": fork_and_go_on, "a daemon": daemon,
        "a child that exits": lambda _: forking(1, lambda: sys.exit(0)),
        "a child that raises": lambda _: forking(1, lambda: throw(Odd())),
        "a child that reports": lambda run: forking(1, lambda: run.report(val_acc=0.9)),
        "a child that kills": lambda _: forking(1, lambda: os.kill(os.getppid(), 9)),
        "a thread without end": lambda _: in_thread(lambda: time.sleep(HOURS_S)),
        "a thread that prints": lambda _: in_thread(print_for_ever),
        "a thread that raises": lambda _: in_thread(lambda: throw(Odd())),
        "a thread that exits": lambda _: in_thread(lambda: sys.exit(3)),
        "500 threads": lambda _: [
            threading.Thread(target=time.sleep, args=(HOURS_S,)).start() for _ in range(500)
        ],
        "an exit handler that hangs": lambda _: atexit.register(time.sleep, HOURS_S),
        "a process left": lambda _: subprocess.Popen(["sleep", str(HOURS_S)]),
        "a session left": lambda _: subprocess.Popen(["setsid", "sleep", str(HOURS_S)]),
        "a pool left": lambda _: multiprocessing.Pool(2),
        "a manager left": lambda _: multiprocessing.Manager(),
        "100 MB of output": lambda _: write("x" * 99 + "\n", 10**6),
        "one line of 20 MB": lambda _: write("x" * 2**20, 20),
        "binary output": lambda _: write(bytes(range(256)), 4000),
        "half a character": lambda _: write("\U0001f600".encode()[:2], 70_000),
        "terminal codes": lambda _: write("\x1b[2J\x1b]0;title\x07\r\b", 10),
        "a traceback printed": lambda _: write("Traceback (most recent call last):\n", 1),
        "a loader of nothing": lambda run: [*run.batches([], samples=len)],
        "no loader": lambda run: [*run.batches(None, samples=len)],
        "loops in each other": nested_loops,
        "samples of text": counts_samples("x"), "samples below 0": counts_samples(-8),
        "samples of nan": counts_samples(float("nan")), "samples of None": counts_samples(None),
        "samples without end": counts_samples(10**30),
        "samples of a tensor": counts_samples(torch.tensor(8)),
        "a phase of text": lambda run: run.phase("forward").__enter__(),
        "a phase not left": lambda run: run.phase(Phase.FORWARD).__enter__(),
        "evaluating not left": lambda run: run.evaluating().__enter__(),
        "a first loss of text": lambda run: run.first_loss("x"),
        "a checkpoint of a lock": lambda run: run.checkpoint({"lock": threading.Lock()}),
        "a checkpoint of text": lambda run: run.checkpoint("x"),
        "a checkpoint of 50 MB": lambda run: run.checkpoint({"x": torch.zeros(12_500_000)}),
        "a restored one": lambda run: run.restore(),
        "epochs of epochs": lambda run: [*run.epochs()],
        "deletes run": lambda run: vars(run).clear(),
    }.items()
}  # fmt: skip

WAYS: Final = {
    "good": Way(act=lambda _: None, states=COMPLETED),
    **_FIGURES,
    **_ERRORS,
    **_MISCHIEF,
    **ODD_WAYS,
}
"""Ways by their names."""
