"""Sweeps of training settings, with trustworthy figures.

The names here are what a sweep file or a trainable needs; everything else is
imported from its own module.

================  =======================================================================
cli               the command line of ``python -m orchestrator``; its parts are in ``driver``
train             ``python -m orchestrator train``: with the settings that a run recommends
demo              ``python -m orchestrator demo``: a recorded sweep, replayed
templates         ``python -m orchestrator init``: a sweep and a trainable to begin with
judge             ``python -m orchestrator judge``: is a revision, config or command faster?
standalone        command line of a trainable that is trained without a sweep
driver            one run, from options to report
search            what to try next
execution         running trials: processes, telemetry, Ray
measurement       what a trial measures in its own process; ``Run``
from_python       ``orchestrator.run``: a sweep from a script or a notebook
wrappers          functions and commands as they are, as trainables
integrations      training loops of Lightning and Hugging Face, timed by a run
analysis          tables, answer, report, ``import orchestrator.analysis as an``
tracking          console and MLflow
storage           the files of a run, written and read back
sweep             the sweep file: read, checked, overridden
space             knobs, domains, configs
provenance        origin of a number: source, packages, node
system            the operating system, without trials
trainable         a training function with knobs, data sets and demands
machine           nodes, cores and GPUs; constraints
metrics, rules    objectives, and the rules that a config is recommended by
trial             a trial, its reports and its result
errors, texts     wrong requests, and text made fit to be shown
locations         lines of the user's files, and paths as users name them
arguments         types of command-line arguments, and commands to type
================  =======================================================================
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from orchestrator.data import DataFolders, DataSet, PreparedData
from orchestrator.errors import DataError, KnobError, RunDirectoryError, SweepError, SweepFileError
from orchestrator.execution.ray.functions import from_ray
from orchestrator.kernel.search import SearchSpec
from orchestrator.machine import Constraint, Machine, Node, requires
from orchestrator.metrics import Objective, Published, at_least, at_most, maximize, minimize
from orchestrator.provenance.version import __version__
from orchestrator.rules import fastest_within, knee, weighted
from orchestrator.search import Asha, Factored, Grid, Optuna, Random, Sampler
from orchestrator.space.configs import both, knobs, learning, systems
from orchestrator.space.domains import choice, integers, loguniform, uniform
from orchestrator.sweep.definition import NODE, Sweep
from orchestrator.sweep.rigor import Rigor
from orchestrator.trainable import Demand, Trainable
from orchestrator.trial import Isolation, Stage
from orchestrator.wrappers import from_function, from_optuna, from_script

if TYPE_CHECKING:
    from orchestrator.from_python import run
    from orchestrator.measurement.blocks import Phase
    from orchestrator.measurement.run import Run

_LATE = {
    "Phase": "orchestrator.measurement.blocks",
    "Run": "orchestrator.measurement.run",
    "run": "orchestrator.from_python",
}
"""Modules of names that are imported when they are asked for: ``Run`` takes torch."""

__all__ = [
    "NODE", "Asha", "Constraint", "DataError", "DataFolders", "DataSet", "Demand", "Factored",
    "Grid", "Isolation", "KnobError", "Machine", "Node", "Objective", "Optuna",
    "Phase", "PreparedData", "Published", "Random", "Rigor", "Run", "RunDirectoryError", "Sampler",
    "SearchSpec", "Stage", "Sweep", "SweepError", "SweepFileError", "Trainable", "__version__",
    "at_least", "at_most", "both", "choice", "fastest_within", "from_function", "from_optuna",
    "from_ray", "from_script", "integers", "knee", "knobs", "learning", "loguniform", "maximize",
    "minimize", "requires", "run", "systems", "uniform", "weighted",
]  # fmt: skip


if not TYPE_CHECKING:  # with it a checker would take any name

    def __getattr__(name: str) -> Any:  # noqa: ANN401 - whatever the name stands for
        if name not in _LATE:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module(_LATE[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_LATE})
