"""One setting of a study in a separate process: ``python -m benchmarks.gpu.measure JSON``.

The trainable's own function, without executor and supervisor, which would need more packages.
The last line of output is the outcome.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import benchmarks.gpu.stand_in  # noqa: F401 - before anything that imports dgl
from benchmarks.gpu.studies import STUDIES, Knobs, Scale, Study
from orchestrator.data import DataFolders, find_data
from orchestrator.errors import SweepError
from orchestrator.machine import Machine, Node
from orchestrator.system.allocators import allocator_environment

TIME_LIMIT_S = 240.0


@dataclass(frozen=True, kw_only=True)
class Work:
    """Setting to measure, and its place.

    Attributes:
        study: Name of the study.
        setting: Position of the setting in it.
        scale: How much is trained.
        device: ``cuda`` or ``cpu``.
        data_root: Folder of the sets that are not generated on the way.
        seed: Seed of every random choice.
    """

    study: str
    setting: int
    scale: Scale
    device: str
    data_root: str
    seed: int = 0

    def of(self) -> tuple[Study, Knobs]:
        """The study and the setting's knobs."""
        study = next(study for study in STUDIES if study.name == self.study)
        return study, study.settings[self.setting]


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """Outcome of a measurement.

    Attributes:
        state: ``completed``, ``infeasible`` or ``failed``.
        reason: Why it is not completed.
        metrics: Figures of the last report.
        tags: The longest wait of a step.
    """

    state: str
    reason: str = ""
    metrics: Mapping[str, float] = field(default_factory=dict)
    tags: Mapping[str, str] = field(default_factory=dict)


def in_fresh_process(work: Work, allocator: str) -> Outcome:
    """Measure in a separate process, started with the allocator."""
    command = [sys.executable, "-W", "ignore", "-m", __name__, json.dumps(asdict(work))]
    try:
        done = subprocess.run(
            command,
            env=allocator_environment(allocator, os.environ),
            capture_output=True,
            text=True,
            check=False,
            timeout=TIME_LIMIT_S,
        )
    except subprocess.TimeoutExpired:
        return Outcome(state="infeasible", reason=f"took more than {TIME_LIMIT_S:g} s")
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["no output"])[-1]
        return Outcome(state="failed", reason=f"exit code {done.returncode}: {last}")
    return Outcome(**json.loads(done.stdout.splitlines()[-1]))


def measured(work: Work) -> Outcome:
    """Measure in this process."""
    study, setting = work.of()
    machine = machine_here(work.device)
    config = study.config(setting, work.scale)
    if reason := study.infeasible(config, machine):
        return Outcome(state="infeasible", reason=reason)
    try:
        return _trained(study, config, machine, work)
    except SweepError as error:
        return Outcome(state="infeasible", reason=str(error))
    except (MemoryError, FloatingPointError) as error:
        return Outcome(state="infeasible", reason=f"{type(error).__name__}: {error}")


def machine_here(device: str) -> Machine:
    """Return this machine, as torch sees it."""
    import torch

    gpus = torch.cuda.device_count() if device == "cuda" else 0
    cpus = len(os.sched_getaffinity(0))
    return Machine(nodes=(Node(name="here", cpus=cpus, gpus=gpus),))


def _trained(study: Study, config: Any, machine: Machine, work: Work) -> Outcome:  # noqa: ANN401
    from orchestrator.measurement.run import Context, Run
    from orchestrator.trial import Budget, Report

    class Last:
        report_: Report | None = None

        def report(self, report: Report) -> bool:
            self.report_ = report
            return False

    trainable, size, last = study.found(), study.sizes[work.scale], Last()
    folders = DataFolders.default(Path(work.data_root))
    demand = trainable.demand_of(config, machine)
    with tempfile.TemporaryDirectory(prefix="gpu-study-") as scratch:
        where = Context(
            seed=work.seed,
            budget=Budget(epochs=size.epochs, steps=size.steps),
            device="cuda:0" if demand.gpus else "cpu",
            num_cores=machine.cpus,
            num_workers=demand.workers,
            burst=demand.burst,
            data=find_data(trainable.data, size.data).prepare(folders),
            checkpoint_dir=Path(scratch),
        )
        trainable.train(config, Run(where, last))
    assert last.report_ is not None, "a trainable reports after each epoch"
    return Outcome(state="completed", metrics=last.report_.metrics, tags=last.report_.tags)


if __name__ == "__main__":
    given = json.loads(sys.argv[1])
    print(json.dumps(asdict(measured(Work(**{**given, "scale": Scale(given["scale"])})))))
