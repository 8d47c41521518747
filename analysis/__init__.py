"""A short name in the checkout: ``import analysis`` gives what ``orchestrator.analysis`` has.

Not installed with the package, so that a folder of this name in one's own repository stays one's
own. ``notebooks/`` has a notebook for each question that is asked of a run.
"""

from typing import Any

import orchestrator.analysis as _analysis

__all__ = list(_analysis.__all__)


def __getattr__(name: str) -> Any:  # noqa: ANN401 - whatever the name stands for
    return getattr(_analysis, name)


def __dir__() -> list[str]:
    return dir(_analysis)
