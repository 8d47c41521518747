"""From a sweep's tables to an answer: the front, the config to use, the report.

    import orchestrator.analysis as an

    run = an.load("runs/products_loader/20261121-090000")
    print(an.recommend(run).why)

No module imports a trainable, Ray or torch. Each folder rests on those below it:

- ``__main__.py``, ``commands.py``: the command line.
- ``api/``: the functions of ``an``, each from a run or a frame to a frame.
- ``report/``: pages, pictures, the terminal.
- ``findings/``: the results that page, terminal and MLflow show first.
- ``comparison/``: two runs, or two versions of something.
- ``knobs/``: what each knob does.
- ``recommendation/``: the config to use, how much faster it is, and how sure that is.
- ``tables/``: a run's tables, from disk or MLflow.
- ``composition/``: figures of configs that were not trained end to end.
- ``statistics/``: numbers from tables, without an opinion.
- ``columns.py``, ``comparable.py``, ``rule.py``: columns, comparable rows, the sweep's rule.
- ``wording.py``: the rule, figures and knobs in sentences.
"""

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from orchestrator.analysis.api import plot
    from orchestrator.analysis.api.runs import (
        configs,
        describe,
        export,
        load,
        pareto_front,
        recommend,
    )
    from orchestrator.analysis.api.to_accuracy import goodput, time_to_accuracy
    from orchestrator.analysis.columns import TableError
    from orchestrator.analysis.comparison.compare import compare
    from orchestrator.analysis.knobs.effects import effects
    from orchestrator.analysis.knobs.scaling import scaling
    from orchestrator.analysis.tables.run_tables import RunTables
    from orchestrator.metrics import maximize, minimize

__all__ = [
    "NOTEBOOKS", "RunTables", "TableError", "compare", "configs", "describe", "effects", "export",
    "goodput", "load", "maximize", "minimize", "pareto_front", "plot",
    "recommend", "scaling", "time_to_accuracy",
]  # fmt: skip

_PLACES = Path(__file__).parent / "notebooks", Path(__file__).parents[2] / "analysis/notebooks"
NOTEBOOKS = next(filter(Path.is_dir, _PLACES), _PLACES[0])
"""The notebooks and their recorded runs, of what is installed or of the checkout."""

_ELSEWHERE = {
    "RunTables": "analysis.tables.run_tables",
    "TableError": "analysis.columns",
    "compare": "analysis.comparison.compare",
    "effects": "analysis.knobs.effects",
    "goodput": "analysis.api.to_accuracy",
    "maximize": "metrics",
    "minimize": "metrics",
    "scaling": "analysis.knobs.scaling",
    "time_to_accuracy": "analysis.api.to_accuracy",
}
"""Modules of the names that are not in ``api/runs.py``."""


def __getattr__(name: str) -> Any:  # noqa: ANN401 - whatever the name stands for
    """Import a name when it is first used, since pandas takes a second."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if name == "plot":
        return import_module("orchestrator.analysis.api.plot")
    module = _ELSEWHERE.get(name, "analysis.api.runs")
    return getattr(import_module(f"orchestrator.{module}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
