"""Sweeps of training settings whose figures can be trusted.

The names here are what a sweep file or a trainable needs; everything else is
imported from its own module.

============  ===================================================================
__main__      ``python -m orchestrator``
cli           its command line
standalone    command line of a trainable that is trained without a sweep
train         ``python -m orchestrator train``: with the settings that a run recommends
single_run    one training run outside of a sweep, its weights kept
printer       what is printed of such a training
arguments     types of command-line arguments
commands      commands to show to the user
driver        one run, from options to report
search        what to try next
execution     running trials: processes, telemetry, Ray
measurement   what a trial measures in its own process; ``Run``
tracking      console and MLflow
storage       the files of a run, written and read back
sweep         the sweep file: read, checked, overridden
space         knobs, domains, configs
provenance    where a number comes from: source, packages, node
system        the operating system, without trials
trainable     a training function with knobs, data sets and demands
constraints   reasons for which a config cannot run
data          data sets
machine       nodes, cores and GPUs
metrics       the columns of figures
rules         the rules that a config is recommended by
derived       figures that are made for the sweeps that ask for them
trial         a trial, its reports and its result
errors        wrong requests
texts         text of any origin, made fit to be shown
locations     lines of the user's files, for messages
============  ===================================================================
"""

from orchestrator.constraints import Constraint, requires
from orchestrator.data import DataFolders, DataHeaders, DataSet, PreparedData
from orchestrator.errors import (
    DataError,
    KnobError,
    RunDirectoryError,
    SweepError,
    SweepFileError,
)
from orchestrator.execution.ray.functions import from_ray
from orchestrator.machine import Machine, Node
from orchestrator.metrics import Objective, at_least, at_most, maximize, minimize
from orchestrator.rules import fastest_within, knee, weighted
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
    "DataHeaders",
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
    "at_least",
    "at_most",
    "both",
    "choice",
    "fastest_within",
    "from_ray",
    "integers",
    "knee",
    "knobs",
    "learning",
    "loguniform",
    "maximize",
    "minimize",
    "requires",
    "systems",
    "uniform",
    "weighted",
]
