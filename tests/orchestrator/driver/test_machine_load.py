"""A machine that other processes keep busy is noted; the sweep's own load is not theirs."""

from __future__ import annotations

import os
import time

import pytest

from orchestrator.driver import machine_load
from orchestrator.driver.machine_load import MachineLoad
from orchestrator.system.processes import ProcessTree, TreeSample


class Counted:
    """The kernel's counters, as a test sets them."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.at = self.busy = self.own = 0.0
        monkeypatch.setattr(time, "monotonic", lambda: self.at)
        monkeypatch.setattr(machine_load, "read_core_times", lambda _: {"busy": self.busy})
        monkeypatch.setattr(ProcessTree, "read", lambda _, __: TreeSample(cpu_s=self.own))

    def after(self, seconds: float, *, own: float, others: float) -> None:
        self.at += seconds
        self.own += own * seconds
        self.busy += (own + others) * seconds


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> Counted:
    return Counted(monkeypatch)


@pytest.mark.parametrize(
    ("num_cores", "others", "noted"),
    [(2, 0.2, False), (2, 0.3, True), (64, 1.0, False), (64, 4.0, True)],
)
def test_a_busy_machine_is_noted_with_the_figure(
    counted: Counted, monkeypatch: pytest.MonkeyPatch, num_cores: int, others: float, *, noted: bool
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(num_cores)))
    load = MachineLoad()
    counted.after(1.0, own=0.5, others=others)
    text = f"other processes use {others:.1f} of {num_cores} cores"
    assert load.busy_note().startswith(text) is noted
