"""The part of a trial that MLflow has."""

from __future__ import annotations

from dataclasses import dataclass, field

from orchestrator.tracking.mlflow.content import Place


@dataclass
class Child:
    """The part of a trial that MLflow has.

    Attributes:
        run_id: MLflow's id of its run.
        attempt: The start of the trial that the run is of.
        role: What its config is to the answer, as MLflow has it.
        num_reports: Reports that were written.
        has_params: Whether its config was written.
        ended: Whether nothing more is to be written.
        present: Points that were there before this process, by name, time and step.
    """

    run_id: str
    attempt: str
    role: str = ""
    num_reports: int = 0
    has_params: bool = False
    ended: bool = False
    present: set[Place] = field(default_factory=set)
