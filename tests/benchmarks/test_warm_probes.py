"""Probes beside their steps, and warm ones beside fresh ones."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.warm_probes.__main__ import subjects
from benchmarks.warm_probes.lenet import SWEEP
from benchmarks.warm_probes.overhead import row
from benchmarks.warm_probes.speeds import Speeds, compare
from orchestrator.machine import Machine, Node
from orchestrator.search.base import WAIT, Proposal
from orchestrator.sweep.problem import search_problem
from orchestrator.trial import Stage


def test_a_mean_ratio_within_the_margin_is_within() -> None:
    speeds = Speeds(warm=[100.0, 102.0, 98.0], fresh=[100.0, 101.0, 99.0])
    assert "(within 1%)" in speeds.row("lenet", 0.01)
    slower = Speeds(warm=[90.0, 90.9, 89.1], fresh=[100.0, 101.0, 99.0])
    assert "0.9000 (beyond 1%)" in slower.row("lenet", 0.01)


def test_the_interval_is_that_of_the_paired_logarithms() -> None:
    speeds = Speeds(warm=[1.0, 2.0, 4.0], fresh=[1.0, 1.0, 1.0])
    # log 2 plus or minus t(0.975, 2) log 2 / sqrt(3)
    assert "| 2.0000 (beyond 1%) | 0.3575 to 11.1900 |" in speeds.row("", 0.01)


def test_the_median_probe_is_held_against_the_limit() -> None:
    seconds = [0.1, 0.2, 0.3, 0.9, 1.2]
    assert row("lenet", "ray", seconds, 0.5).startswith("| lenet | ray | 0.30 s (within 0.5 s) |")
    assert "(above 0.2 s)" in row("lenet", "ray", seconds, 0.2)


def test_probes_are_of_speed_alone_and_of_one_config() -> None:
    machine = Machine(nodes=(Node(name="here", cpus=1),))
    search = SWEEP.search.start(search_problem(SWEEP, machine))
    asked = []
    while isinstance(proposal := search.ask(), Proposal):
        asked.append(proposal)
    assert proposal is WAIT
    assert len(asked) == 20
    assert {each.stage for each in asked} == {Stage.PROBE}
    assert not any(each.budget.evaluated for each in asked)
    assert len({str(each.config) for each in asked}) == 1


@pytest.mark.slow
def test_a_warm_and_a_fresh_probe_run_interleaved(tmp_path: Path) -> None:
    subject = replace(subjects(tmp_path, None)[0], steps=20)
    speeds = compare(subject, 1)
    assert len(speeds.warm) == len(speeds.fresh) == 1
    assert all(speed > 0 for speed in (*speeds.warm, *speeds.fresh))
