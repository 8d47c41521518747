"""The trackers of a run: its console, and MLflow unless that is left out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from orchestrator.driver.analyst import Analyst
from orchestrator.driver.best_so_far import best_so_far
from orchestrator.driver.machine_load import MachineLoad
from orchestrator.driver.planning.of_request import expected_trial_s
from orchestrator.driver.request import Request
from orchestrator.driver.trials import TrialFactory
from orchestrator.formats import clock
from orchestrator.kernel.events import Event
from orchestrator.kernel.parts import Fold
from orchestrator.tracking.console.tracker import ConsoleTracker
from orchestrator.tracking.mlflow import MlflowMirror
from orchestrator.tracking.mlflow.uris import shown

MLFLOW_S: Final = 120.0
"""Longest wait for MLflow at the end; what it has not taken by then ``--resume`` brings it."""


@dataclass(frozen=True, kw_only=True)
class Trackers:
    """The trackers of a run.

    Attributes:
        console: What the user sees.
        mlflow: The mirror in MLflow, or None.
        uri: Where it is, without secrets.
    """

    console: ConsoleTracker
    mlflow: MlflowMirror | None
    uri: str = ""

    @property
    def all(self) -> list[Fold]:
        """Return them in the order in which they receive events."""
        return [self.console] if self.mlflow is None else [self.console, self.mlflow]

    def close(self, exit_code: int) -> list[str]:
        """Close them, and print that MLflow is waited for; return what is worth printing last."""
        lines = self.console.close(exit_code)
        if self.mlflow is None:
            return lines
        most = clock(MLFLOW_S)
        text = f"waiting for MLflow to take the last trials, at most {most}: {self.uri} ..."
        self.console.phase(text)
        return [*lines, *self.mlflow.close(exit_code)]


def make_trackers(
    request: Request,
    factory: TrialFactory,
    analyst: Analyst,
    load: MachineLoad | None,
    run_dir: Path,
    past: Sequence[Event],
) -> Trackers:
    """Return the trackers of a run.

    Args:
        request: What was asked for.
        factory: Makes the run's trials.
        analyst: Knows the candidates of a factored search.
        load: Reads the load of this machine; None where trials run elsewhere.
        run_dir: The run directory.
        past: Events of earlier processes.
    """
    options = request.options
    console = ConsoleTracker(
        past=past,
        find_best=lambda so_far: best_so_far(so_far, analyst.candidates),
        read_load=lambda: None if load is None else load.read(),
        expected_s=lambda: expected_trial_s(request, factory.num_cores, factory.data_name),
    )
    if options.no_mlflow:
        return Trackers(console=console, mlflow=None)
    assert options.tracking_uri is not None
    uri = options.tracking_uri
    name = options.experiment or ""
    mirror = MlflowMirror(run_dir, uri, experiment=name, say=console.note, bound_s=MLFLOW_S)
    return Trackers(console=console, mlflow=mirror, uri=shown(uri))
