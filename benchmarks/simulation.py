"""A sweep played on recorded runs of any source: for benchmarks with tables of other origin.

The search, the stages around it, the journal and the tables are those of the command line.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from orchestrator.data import DataFolders
from orchestrator.driver.assembly import make_loop
from orchestrator.driver.phases import capacity_of
from orchestrator.driver.record import question_record
from orchestrator.driver.trials import TrialFactory
from orchestrator.execution.placement import cores_of_trial
from orchestrator.kernel.executor import Needs, Source
from orchestrator.kernel.journal import Journal
from orchestrator.kernel.parts import Fold
from orchestrator.machine import Machine
from orchestrator.replay.executor import ReplayExecutor
from orchestrator.replay.recorded import RecordedRun
from orchestrator.storage.files import RunDirectory, RunFile
from orchestrator.sweep.definition import Sweep
from orchestrator.trial import Trial


def play(
    sweep: Sweep[Any],
    draw: Callable[[Trial], RecordedRun],
    machine: Machine,
    run_dir: Path,
    *,
    source: str,
    interleaved_gib: float = 0.0,
    folds: Sequence[Fold] = (),
) -> ReplayExecutor:
    """Play a sweep; write its journal and ``sweep.json`` to ``run_dir``, but no tables yet.

    Args:
        sweep: The sweep.
        draw: Returns the recorded run that a trial plays.
        machine: The simulated machine.
        run_dir: A new run directory.
        source: Name of the table, for the record.
        interleaved_gib: Memory that interleaved trials may have together; 0: none interleave.
        folds: Views of the run.

    Returns:
        The executor, which has the time and core-time of the replay.

    Raises:
        ReplayError: A trial needs a run that was not recorded.
    """
    executor = ReplayExecutor(draw, machine)
    num_cores = cores_of_trial(sweep.cores_per_trial, machine)
    folders = DataFolders(root=run_dir, cache=run_dir)
    factory = TrialFactory(
        sweep=sweep,
        needs=Needs(source=Source(), data="", folders=folders, fingerprint=""),
        machine=machine,
        num_cores=num_cores,
        scratch=run_dir,
        capacity=replace(
            capacity_of(sweep, machine, num_cores, None), interleaved_gib=interleaved_gib
        ),
    )
    record = replace(
        question_record(sweep, run_dir / RunFile.SWEEP),
        name=source,
        cores_per_trial=factory.num_cores,
        capacity=factory.capacity,
        replayed=source,
    )
    directory = RunDirectory(run_dir)
    try:
        journal = Journal(directory.journal, now=executor.now)
        loop, _, analyst = make_loop(factory, record, journal)
        for fold in folds:
            loop.follow(fold)
        record.write(run_dir)
        analyst.write_candidates(run_dir)
        loop.open(record.to_json())
        executor.run(loop)
        loop.close(0)
        analyst.write_candidates(run_dir)
    finally:
        directory.release()
    return executor
