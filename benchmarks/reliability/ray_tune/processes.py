"""Functions by what they start and change in their process."""

# ruff: noqa: D103 - their names say it

from __future__ import annotations

import asyncio
import contextlib
import io
import logging
import multiprocessing
import os
import random
import shutil
import signal
import subprocess
import sys
import warnings
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path

import numpy as np
import torch
from ray import tune
from torch.utils.data import DataLoader, TensorDataset

from benchmarks.reliability.ray_tune.cases import Config, case


def _squared(x: float) -> float:
    return x * x


# -- threads and processes


@case
def uses_a_pool_of_threads(config: Config) -> None:
    with ThreadPoolExecutor(4) as pool:
        tune.report({"score": float(sum(pool.map(_squared, range(5))))})


@case
def uses_a_pool_of_processes(config: Config) -> None:
    with ProcessPoolExecutor(2) as pool:
        tune.report({"score": float(sum(pool.map(_squared, range(5))))})


@case
def uses_a_pool_of_spawned_processes(config: Config) -> None:
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        tune.report({"score": float(sum(pool.map(_squared, range(5))))})


@case
def uses_a_process_and_a_queue(config: Config) -> None:
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    process = context.Process(target=queue.put, args=(2.5,))
    process.start()
    tune.report({"score": queue.get()})
    process.join()


@case
def forks(config: Config) -> None:
    child = os.fork()
    if not child:
        os._exit(7)
    tune.report({"score": float(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))})


@case
def uses_the_workers_of_a_loader(config: Config) -> None:
    loader = DataLoader(TensorDataset(torch.arange(8.0)), 2, num_workers=2)
    tune.report({"score": float(sum(batch[0].sum() for batch in loader))})


@case
def leaves_a_process_behind(config: Config) -> None:
    subprocess.Popen(["sleep", "60"])
    tune.report({"score": 1.0})


@case
def runs_a_coroutine(config: Config) -> None:
    async def trains() -> None:
        for step in range(3):
            await asyncio.sleep(0)
            tune.report({"score": float(step)})

    asyncio.run(trains())


@case
def sets_a_signal_handler(config: Config) -> None:
    signal.signal(signal.SIGALRM, signal.SIG_IGN)
    tune.report({"score": 1.0})


# -- what they change


@case
def changes_its_folder(config: Config) -> None:
    Path("inner").mkdir()
    os.chdir("inner")
    tune.report({"score": float(Path.cwd().name == "inner")})


@case
def removes_its_folder(config: Config) -> None:
    shutil.rmtree(Path.cwd())
    tune.report({"score": 1.0})


@case
def changes_the_environment(config: Config) -> None:
    before = os.environ.get("OF_A_TRIAL", "0")
    os.environ["OF_A_TRIAL"] = "1"
    tune.report({"score": 1.0 + float(before != "0" and before != "1")})


@case
def changes_numbers_and_defaults(config: Config) -> None:
    torch.set_default_dtype(torch.float64)
    try:
        with np.errstate(all="raise"), warnings.catch_warnings():
            warnings.simplefilter("error")
            tune.report({"score": float(torch.tensor(0.1))})
    finally:
        torch.set_default_dtype(torch.float32)


@case
def draws_by_seeds_of_its_own(config: Config) -> None:
    random.seed(3)
    np.random.seed(3)
    torch.manual_seed(3)
    drawn = random.random(), float(np.random.rand()), float(torch.rand(()))
    tune.report(dict(zip(("score", "numpy", "torch"), drawn, strict=True)))


@case
def recurses(config: Config) -> None:
    def depth(left: int) -> int:
        return 0 if not left else 1 + depth(left - 1)

    tune.report({"score": float(depth(500))})


# -- output


@case
def writes_to_all_streams(config: Config) -> None:
    print("text", file=sys.stderr, flush=True)
    os.write(1, b"\xff\x00 bytes\n")
    os.write(2, "größe\r\x1b[31m\n".encode())
    logging.getLogger("of a trial").warning("logged")
    warnings.warn("warned", stacklevel=1)
    tune.report({"score": 1.0})


@case
def captures_its_output(config: Config) -> None:
    with contextlib.redirect_stdout(io.StringIO()) as text:
        print("hidden")
        tune.report({"score": float(len(text.getvalue()))})


@case
def sets_up_logging(config: Config) -> None:
    logging.basicConfig(level=logging.DEBUG, force=True, filename="log.txt")
    logging.debug("first")
    logging.shutdown()
    tune.report({"score": float("first" in Path("log.txt").read_text())})


@case
def asks_for_input(config: Config) -> None:
    tune.report({"score": 1.0})
    input()
