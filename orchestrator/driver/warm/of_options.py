"""The warm start that a command line asks for: what its search is told of first."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from orchestrator.driver.options import Options
from orchestrator.driver.warm.earlier_runs import Here, read_warm_start
from orchestrator.driver.warm.warm_start import WarmStart, kept_warm_start
from orchestrator.execution.placement import cores_of_trial
from orchestrator.machine import Machine
from orchestrator.provenance.environment import environment
from orchestrator.replay.setup import Replay
from orchestrator.storage.sweep_record import SweepRecord
from orchestrator.sweep.definition import Sweep


def warm_start_of(
    options: Options,
    sweep: Sweep[Any],
    machine: Machine,
    *,
    file: Path,
    before: SweepRecord | None,
    replay: Replay | None,
) -> WarmStart:
    """Return what the search is told of first.

    A resumed run is told what it was told when it was started.

    Args:
        options: The command line's values.
        sweep: The sweep.
        machine: What its trials run on.
        file: The sweep file.
        before: The record of the run that is resumed, or None.
        replay: The recorded runs to play instead of measuring, or None.

    Raises:
        SweepError: See :func:`read_warm_start`; or what was told is not there any more.
    """
    if before is not None:
        assert options.resume is not None, "a run before this one is one that is resumed"
        return kept_warm_start(options.resume, before)
    if not options.warm_start:
        return WarmStart()
    found = environment(file)
    if replay is not None:
        table = replay.table.sweep
        found = {"hardware": table.hardware, "versions": table.versions}
    num_cores = cores_of_trial(sweep.cores_per_trial, machine)
    here = Here(
        hardware=None if options.address else found["hardware"],
        versions=found["versions"],
        num_cores=None if options.address else num_cores,
    )
    return read_warm_start(options.warm_start, sweep, machine, here)
