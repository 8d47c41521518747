"""Processes that share a core in time slices, and the rows made of their times."""

from __future__ import annotations

import math
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import psutil
import pytest

from benchmarks.time_slices import rate_of, row_of
from orchestrator.measurement.blocks import Block

ROOT = Path(__file__).parents[2]


def blocks(durations_s: Sequence[float]) -> list[Block]:
    return [
        Block(
            epoch=0, first_step=at, num_steps=1, samples=100, duration_s=duration_s, end=None,
            phases={},
        )
        for at, duration_s in enumerate(durations_s)
    ]  # fmt: skip


def test_steps_in_which_a_slice_ended_are_no_part_of_a_rate() -> None:
    assert rate_of(blocks([1.0, 1.0, 1.75, 3.1, 1.0])) == pytest.approx(400 / 4.75)


def test_a_row_tells_processes_from_the_halves_of_each() -> None:
    apart = [(math.exp(x), math.exp(x)) for x in (-0.02, 0.0, 0.02)]
    assert row_of("lenet", apart).endswith("| 2.0% | 0.0% |")
    unsteady = [(math.exp(-x), math.exp(x)) for x in (-0.02, 0.0, 0.02)]
    assert row_of("lenet", unsteady).endswith("| 0.0% | 2.0% |")


@pytest.mark.slow
def test_processes_share_a_core_and_none_is_left(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "benchmarks.time_slices", "lenet", "--processes", "2"]
    done = subprocess.run(
        [*command, "--slices", "4"], cwd=ROOT, env={"SWEEP_CACHE": str(tmp_path)},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    what, processes, rate, *_ = done.stdout.splitlines()[-1].strip("| ").split(" | ")
    assert (what, processes) == (f"lenet, core {min(os.sched_getaffinity(0))}", "2")
    assert float(rate.replace(",", "")) > 1000
    commands = [process.info["cmdline"] or [] for process in psutil.process_iter(["cmdline"])]
    assert not [command for command in commands if "benchmarks.time_slices" in command]
