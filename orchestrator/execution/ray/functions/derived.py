"""Values that ``tune.sample_from`` computes from the rest of a config, by Ray Tune's own rules."""

from __future__ import annotations

import importlib
import logging
import random
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any


def is_derived(value: Any) -> bool:  # noqa: ANN401 - any object
    """Return True for a ``tune.sample_from``, and for its older form ``{"eval": "..."}``."""
    if isinstance(value, dict):
        return set(value) == {"eval"}
    kind = type(value)
    return kind.__module__.startswith("ray.tune.search") and kind.__name__ == "Function"


def resolved(config: Mapping[Any, Any], seed: int = 0) -> dict[Any, Any]:
    """Return a config with its derived values computed, by the same random numbers each time.

    Functions are called in the order of the config, each with all of it: with the dictionary, and
    where that raises with ``spec``, as in ``spec.config.lr``.

    Raises:
        ValueError: A function raises, or asks for what a later one computes.
    """
    placeholders: Any = importlib.import_module("ray.tune.impl.placeholder")
    variants: Any = importlib.import_module("ray.tune.search.variant_generator")
    resolvers = placeholders.create_resolvers_map()
    injected = placeholders.inject_placeholders(dict(config), resolvers)
    with _seeded(seed):
        try:
            _, spec = next(variants.generate_variants({"config": injected}))
            placeholders.resolve_placeholders(spec["config"], resolvers)
        except Exception as error:
            cause = error.__cause__ or error.__context__ or error
            raise ValueError(f"it raised {type(cause).__name__}: {cause}") from error
    made: dict[Any, Any] = spec["config"]
    if placeholders._FunctionResolver.TOKEN in repr(made):
        raise ValueError("it asks for what a later tune.sample_from computes: put that one first")
    return made


@contextmanager
def _seeded(seed: int) -> Iterator[None]:
    """Set the global generators of Python and NumPy, and go on as before afterwards."""
    logger = logging.getLogger("ray.tune.search.sample")  # it warns of each call with spec
    numpy: Any = importlib.import_module("numpy.random")
    before, before_numpy = random.getstate(), numpy.get_state()
    random.seed(seed)
    numpy.seed(seed)
    was_disabled, logger.disabled = logger.disabled, True
    try:
        yield
    finally:
        logger.disabled = was_disabled
        random.setstate(before)
        numpy.set_state(before_numpy)
