"""From a sweep's tables to an answer: the front, the config to use, the report.

    import analysis as an

    run = an.load("runs/products_loader/20261121-090000")
    print(an.recommend(run).why)

No module imports a trainable, Ray or torch. Each folder rests on those below it:

- ``__main__.py``: the command line.
- ``api/``: the functions of ``an``, each from a run or a frame to a frame.
- ``report/``: pages, pictures, the terminal.
- ``comparison/``: two runs, or two versions of something.
- ``bottlenecks/``: what limits the rate.
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
    from analysis.tables.load import load_run as load

_WHERE = {
    "load": ("analysis.tables.load", "load_run"),
}
"""Module and name of each function: imported when it is asked for, since pandas takes a second."""

__all__ = ["load"]


def __getattr__(name: str) -> Any:  # noqa: ANN401 - whatever the name stands for
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module, attribute = _WHERE[name]
    return getattr(import_module(module), attribute)


def __dir__() -> list[str]:
    return sorted([*globals(), *_WHERE])
