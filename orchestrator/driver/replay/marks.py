"""Marks of a replay: its record, named as one, and its last line."""

from __future__ import annotations

from dataclasses import replace

from orchestrator.driver.budgets.budgets import HOUR_S
from orchestrator.execution.replay.executor import ReplayExecutor
from orchestrator.execution.replay.setup import Replay
from orchestrator.formats import clock
from orchestrator.machine import Machine
from orchestrator.storage.sweep_record import SweepRecord


def marked(record: SweepRecord, replay: Replay) -> SweepRecord:
    """Return the record of a replay: where and on what the recorded runs were measured."""
    table = replay.table.sweep
    return replace(
        record,
        data=table.data,
        data_note=table.data_note,
        source_hash=table.source_hash,
        data_fingerprint=table.data_fingerprint,
        nodes=table.nodes,
        versions=table.versions,
        hardware=table.hardware,
        git=table.git,
        started_at=table.started_at,
        replayed=str(replay.table.path),
    )


def replay_lines(executor: object) -> list[str]:
    """Return the last line of a replay: what was simulated, and what the search itself took."""
    assert isinstance(executor, ReplayExecutor), "a replay is played by its own"
    spent = executor.spent
    gpus = f", {spent.gpu_s / HOUR_S:.3g} GPU-hours" if spent.gpu_s else ""
    return [
        f"simulated:   {clock(spent.simulated_s)} on {_counted_nodes(executor.machine())}, "
        f"{spent.core_s / HOUR_S:.3g} core-hours{gpus}; search and journal took "
        f"{spent.own_s:.1f} s, which are not in it"
    ]


def _counted_nodes(machine: Machine) -> str:
    nodes, cores = len(machine.nodes), machine.cpus
    return f"{nodes} node{'s' * (nodes != 1)} of {cores} core{'s' * (cores != 1)}"
