"""Ray while a sweep file is imported: what would start it is refused before it does."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any, Final

from orchestrator.errors import SweepFileError

STARTS_RAY: Final = "it starts Ray, or joins one, when it is imported"
HOW_NOT_TO: Final = (
    "put ray.init, ray.put, ray.get and tuner.fit() under if __name__ == '__main__': the program "
    "starts its own Ray"
)


@contextmanager
def refusing_ray() -> Iterator[None]:
    """Refuse ``ray.init`` within, which whatever needs a running Ray calls, Ray Tune too.

    Ray takes seconds to import, so it is left to the file; where it does, Ray is changed then.

    Raises:
        SweepFileError: In the place of the call.
    """
    refusal = _Refusal()
    finder = _OnImport("ray", refusal.put_into)
    sys.meta_path.insert(0, finder)
    if "ray" in sys.modules:
        refusal.put_into(sys.modules["ray"])
    try:
        yield
    finally:
        refusal.end()
        with suppress(ValueError):  # the file may have put other finders there
            sys.meta_path.remove(finder)


class _Refusal:
    """A refusal in the place of ``ray.init``, for as long as it has not ended."""

    def __init__(self) -> None:
        self._refuses = True
        self._undo: Callable[[], None] = lambda: None

    def put_into(self, ray: Any) -> None:  # noqa: ANN401 - Ray, or what is so called
        """Refuse ``ray.init``, also where a module has taken it from there for later."""
        init = getattr(ray, "init", None)
        if init is None:
            return

        @functools.wraps(init)
        def refused(*arguments: object, **more: object) -> object:
            if self._refuses:
                raise SweepFileError(STARTS_RAY, HOW_NOT_TO)
            return init(*arguments, **more)

        ray.init, self._undo = refused, lambda: setattr(ray, "init", init)

    def end(self) -> None:
        """Refuse nothing any more."""
        self._refuses = False
        self._undo()


class _OnImport(MetaPathFinder):
    """Finds a module as it would be found without this, and hands it on once it is imported."""

    def __init__(self, name: str, then: Callable[[ModuleType], None]) -> None:
        self._name, self._then = name, then

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return the module's spec, its loader changed; None for any other module."""
        if name != self._name:
            return None
        others = (finder for finder in sys.meta_path if finder is not self)
        found = (finder.find_spec(name, path, target) for finder in others)
        spec = next(filter(None, found), None)
        if spec is None or spec.loader is None:
            return spec
        execute = spec.loader.exec_module

        def exec_module(module: ModuleType) -> None:
            execute(module)
            self._then(module)

        spec.loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec
