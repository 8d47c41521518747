"""Sweeps of training settings whose figures can be trusted.

The names here are what a sweep file or a trainable needs; everything else is
reached through its own module.
"""

from orchestrator.constraints import Constraint, requires
from orchestrator.data import DataFolders, DataSet, PreparedData
from orchestrator.errors import (
    DataError,
    KnobError,
    RunDirectoryError,
    SweepError,
    SweepFileError,
)
from orchestrator.execution.ray.functions import from_ray
from orchestrator.machine import Machine, Node
from orchestrator.metrics import Objective, maximize, minimize
from orchestrator.search.base import SearchSpec
from orchestrator.space.declare import both, knobs, learning, systems
from orchestrator.space.domains import choice, integers, loguniform, uniform
from orchestrator.sweep.definition import NODE, Published, Sweep
from orchestrator.trainable import Demand, Trainable
from orchestrator.trial import Isolation

__all__ = [
    "NODE",
    "Constraint",
    "DataError",
    "DataFolders",
    "DataSet",
    "Demand",
    "Isolation",
    "KnobError",
    "Machine",
    "Node",
    "Objective",
    "PreparedData",
    "Published",
    "RunDirectoryError",
    "SearchSpec",
    "Sweep",
    "SweepError",
    "SweepFileError",
    "Trainable",
    "both",
    "choice",
    "from_ray",
    "integers",
    "knobs",
    "learning",
    "loguniform",
    "maximize",
    "minimize",
    "requires",
    "systems",
    "uniform",
]
