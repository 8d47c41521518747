"""From a sweep's tables to an answer: the front, the config to use, the report.

    import orchestrator.analysis as an

    run = an.load("runs/products_loader/20261121-090000")
    print(an.recommend(run).why)

No module imports a trainable, Ray or torch. Each folder rests on those below it:

- ``__main__.py``: the command line.
- ``commands/``: what it does, a file each.
- ``api/``: the functions of ``an``, each from a run or a frame to a frame.
- ``report/``: pages, pictures, the terminal.
- ``answer/``: what page, terminal and MLflow say first.
- ``comparison/``: two runs, or two versions of something.
- ``knobs/``: what each knob does, and two together.
- ``recommendation/``: the config to use, how much faster it is, and how sure that is.
- ``tables/``: a run's tables, from disk or MLflow.
- ``composition/``: figures of configs that were not trained end to end.
- ``statistics/``: numbers from tables, without an opinion.
- ``columns.py``: the trials table's columns and cells; a row's config.
- ``comparable.py``: groups of rows that may be ranked together.
- ``rule.py``: the rule that a config is recommended by.
- ``derived.py``: figures to a target, as the whole run tells them.
- ``rule_words.py``: that rule in words.
- ``wording.py``: figures and knobs in sentences.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from orchestrator.analysis.api import plot
    from orchestrator.analysis.api.answers import recommend
    from orchestrator.analysis.api.comparing import compare
    from orchestrator.analysis.api.files import export
    from orchestrator.analysis.api.fronts import pareto_front
    from orchestrator.analysis.api.knobs import effects, importance, interactions
    from orchestrator.analysis.api.runs import configs, describe, load
    from orchestrator.analysis.api.scaling import scaling
    from orchestrator.analysis.api.training import goodput, time_to_accuracy
    from orchestrator.analysis.columns import TableError
    from orchestrator.analysis.tables.run_tables import RunTables
    from orchestrator.metrics import maximize, minimize

_WHERE = {
    "RunTables": ("orchestrator.analysis.tables.run_tables", "RunTables"),
    "TableError": ("orchestrator.analysis.columns", "TableError"),
    "compare": ("orchestrator.analysis.api.comparing", "compare"),
    "configs": ("orchestrator.analysis.api.runs", "configs"),
    "describe": ("orchestrator.analysis.api.runs", "describe"),
    "effects": ("orchestrator.analysis.api.knobs", "effects"),
    "export": ("orchestrator.analysis.api.files", "export"),
    "goodput": ("orchestrator.analysis.api.training", "goodput"),
    "importance": ("orchestrator.analysis.api.knobs", "importance"),
    "interactions": ("orchestrator.analysis.api.knobs", "interactions"),
    "load": ("orchestrator.analysis.api.runs", "load"),
    "maximize": ("orchestrator.metrics", "maximize"),
    "minimize": ("orchestrator.metrics", "minimize"),
    "pareto_front": ("orchestrator.analysis.api.fronts", "pareto_front"),
    "plot": ("orchestrator.analysis.api.plot", ""),
    "recommend": ("orchestrator.analysis.api.answers", "recommend"),
    "scaling": ("orchestrator.analysis.api.scaling", "scaling"),
    "time_to_accuracy": ("orchestrator.analysis.api.training", "time_to_accuracy"),
}
"""Module and name of each function, "" for the module itself.

Imported when it is asked for, since pandas takes a second.
"""

__all__ = [
    "RunTables",
    "TableError",
    "compare",
    "configs",
    "describe",
    "effects",
    "export",
    "goodput",
    "importance",
    "interactions",
    "load",
    "maximize",
    "minimize",
    "pareto_front",
    "plot",
    "recommend",
    "scaling",
    "time_to_accuracy",
]


def __getattr__(name: str) -> Any:  # noqa: ANN401 - whatever the name stands for
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module, attribute = _WHERE[name]
    found = import_module(module)
    return getattr(found, attribute) if attribute else found


def __dir__() -> list[str]:
    return sorted([*globals(), *_WHERE])
