"""Cost of the telemetry, which reads a trial twice a second.

    python -m benchmarks.telemetry_overhead

CPU time of one reading of a made-up trial with so many workers and threads, and the loss of a loop
on one core while a supervisor on the same core reads it: the worst case, since from
four cores up the supervisor has another core.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Sequence

from orchestrator.execution.leases import CoreLeases
from orchestrator.execution.telemetry.own_overhead import OwnOverhead
from orchestrator.execution.telemetry.sampler import PERIOD_S, Telemetry
from orchestrator.trial import Isolation

NUM_READINGS = 30
NUM_ROUNDS = 10
ROUND_S = 2.0
_LOOP = f"""
import time
rounds, began = 0, time.perf_counter()
while time.perf_counter() - began < {ROUND_S}:
    sum(range(1000))
    rounds += 1
print(rounds / (time.perf_counter() - began))
"""


def main() -> None:
    """Print both as tables."""
    core = min(os.sched_getaffinity(0))
    print("| workers | threads each | ms of CPU a reading | share of one core |")
    print("| --- | --- | --- | --- |")
    for num_workers, num_threads in ((0, 1), (0, 8), (4, 2), (16, 2)):
        cost_s = reading_cost_s(core, num_workers, num_threads)
        share = f"{100 * cost_s / PERIOD_S:.2f} %"
        print(f"| {num_workers} | {num_threads} | {1000 * cost_s:.2f} | {share} |")
    isolated, watched = loop_rates(core)
    ratios = [read / free for free, read in zip(isolated, watched, strict=True)]
    median = statistics.median(ratios)
    spread = statistics.stdev(isolated) / statistics.mean(isolated)
    print(f"\na loop on the supervisor's own core: {100 * (median - 1):+.2f} % while it is read")
    print(f"(median of {NUM_ROUNDS} pairs; the rate without that varies by {100 * spread:.2f} %)")


def reading_cost_s(core: int, num_workers: int, num_threads: int) -> float:
    """Return the median CPU time of reading a process with so many workers and threads."""
    context = multiprocessing.get_context("fork")
    trial = context.Process(target=_idle_trial, args=(num_workers, num_threads))
    trial.start()
    time.sleep(0.5)
    assert trial.pid is not None
    telemetry, costs = _telemetry(core), []
    try:
        for _ in range(NUM_READINGS):
            time.sleep(0.06)  # the telemetry does not read again sooner
            began = time.process_time()
            telemetry.sample([trial.pid], now=True)
            costs.append(time.process_time() - began)
    finally:
        os.killpg(trial.pid, signal.SIGKILL)
        trial.join()
    return statistics.median(costs)


def loop_rates(core: int) -> tuple[Sequence[float], Sequence[float]]:
    """Return the rounds a second of a loop on ``core``, isolated and read, in alternation."""
    isolated: list[float] = []
    watched: list[float] = []
    for number in range(NUM_ROUNDS):
        order = (False, True) if number % 2 else (True, False)
        for is_read in order:
            (watched if is_read else isolated).append(_rate(core, is_read=is_read))
    return isolated, watched


def _rate(core: int, *, is_read: bool) -> float:
    os.sched_setaffinity(0, [core])
    telemetry = _telemetry(core)
    # Not a fork of this process: a trial shares no memory with its supervisor.
    with subprocess.Popen([sys.executable, "-c", _LOOP], stdout=subprocess.PIPE) as loop:
        while loop.poll() is None:
            if is_read:
                telemetry.sample([loop.pid])
            time.sleep(PERIOD_S / 2)
        assert loop.stdout is not None
        return float(loop.stdout.read())


def _telemetry(core: int) -> Telemetry:
    leases, overhead = CoreLeases(), OwnOverhead()
    lease = leases.acquire(1, Isolation.SHARED, timeout_s=1)
    assert lease is not None
    lease.release()
    return Telemetry(
        cores=[core], num_others=lambda: leases.num_others(lease), overhead_s=overhead.cpu_s
    )


def _idle_trial(num_workers: int, num_threads: int) -> None:
    os.setsid()  # its workers end with it
    context = multiprocessing.get_context("fork")
    for _ in range(num_workers):
        context.Process(target=_idle, args=(num_threads,)).start()
    _idle(num_threads)


def _idle(num_threads: int) -> None:
    for _ in range(num_threads - 1):
        threading.Thread(target=threading.Event().wait, daemon=True).start()
    signal.pause()


if __name__ == "__main__":
    main()
