"""CPU time of made-up drivers and their servers."""

from __future__ import annotations

import os
import time

import psutil

from orchestrator.execution.telemetry.own_overhead import OwnOverhead
from orchestrator.system.processes import ProcessTree
from tests.orchestrator.helpers.families import BURN, CHILD, family


def test_trials_and_other_processes_of_the_driver_are_no_overhead() -> None:
    """A driver with a fork server and another process below it, each with a child that burns."""
    burner = CHILD.format(BURN.format(0.3)) + "child.wait()\nprint('ready', flush=True)\ninput()\n"
    driver = (
        "import subprocess, sys\n"
        f"command, server = {burner!r}, 'orchestrator.execution.process.forkserver'\n"
        "pipes = dict(stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)\n"
        "started = [subprocess.Popen([sys.executable, '-c', command, name], **pipes)\n"
        "           for name in (server, 'another')]\n"
        "for process in started: process.stdout.readline()\n"
        "print('ready', flush=True)\n"
        "input()\n"
        "for process in started: process.communicate('end')\n"
    )
    with family(driver) as process:
        assert OwnOverhead(process.pid).cpu_s() < 0.25
        assert ProcessTree().read([process.pid]).cpu_s >= 0.6
    assert OwnOverhead(os.getpid()).cpu_s() > 0


def test_a_real_fork_server_is_overhead() -> None:
    """The server is known by the module in its command line, which no checker of imports sees."""
    driver = (
        "from orchestrator.execution.process.fork_servers import ForkServers\n"
        "servers = ForkServers()\n"
        "servers.socket_for('default', ('numpy',))\n"
        "print('ready', flush=True)\n"
        "input()\n"
        "servers.close()\n"
    )
    with family(driver) as process:
        (server,) = psutil.Process(process.pid).children()
        while _cpu_s(server) < 0.05:  # it is importing
            time.sleep(0.01)
        own, of_server = _cpu_s(psutil.Process(process.pid)), _cpu_s(server)
        assert OwnOverhead(process.pid).cpu_s() >= own + of_server - 1e-9  # sums of hundredths


def _cpu_s(process: psutil.Process) -> float:
    times = process.cpu_times()
    return float(times.user + times.system)
