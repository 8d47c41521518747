"""A process is known by the command that has started it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from orchestrator.system.owners import owner_of

# As a driver has it: what it has started holds the cores, not the driver itself.
DRIVER = """
import subprocess, sys
held = subprocess.Popen([sys.executable, '-c', 'input()'], stdin=subprocess.PIPE)
print(held.pid, flush=True)
input()
held.communicate()
"""


@pytest.mark.parametrize("is_installed", [False, True])
def test_a_process_of_a_sweep_is_known_by_the_sweeps_command(
    tmp_path: Path, is_installed: bool
) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/orchestrator").write_text(DRIVER)
    (tmp_path / "orchestrator").mkdir()
    (tmp_path / "orchestrator/__main__.py").write_text(DRIVER)
    started = [str(tmp_path / "bin/orchestrator")] if is_installed else ["-m", "orchestrator"]
    command = [sys.executable, *started, "sweeps/x.py", "--tracking-uri", "//u:secret@h"]
    with subprocess.Popen(
        command, cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as driver:
        assert driver.stdout is not None
        holder = int(driver.stdout.readline())
        words = "" if is_installed else f"{Path(sys.executable).name} -m "
        told = f"`{words}orchestrator sweeps/x.py` (process {driver.pid})"
        assert owner_of(holder) == told
        assert owner_of(driver.pid) == told
        driver.communicate("end\n")


def test_any_other_process_is_known_by_its_name() -> None:
    name = Path("/proc/self/comm").read_text().strip()
    assert owner_of(os.getpid()) == f"`{name}` (process {os.getpid()})"
    assert owner_of(2**22 + 1) == f"process {2**22 + 1}"
