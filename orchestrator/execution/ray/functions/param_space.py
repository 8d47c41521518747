"""Ray Tune's ``config`` and ``param_space`` as a config class, and the way back to the dictionary.

Each value of the dictionary, at any depth, is a knob named ``outer/inner``. Where the space has a
domain, the knob varies.
"""

from __future__ import annotations

import importlib
import logging
import random
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from orchestrator.errors import KnobError, SweepError
from orchestrator.execution.ray.functions.labels import label
from orchestrator.execution.ray.functions.space_tree import Knobs, Slot
from orchestrator.locations import caller
from orchestrator.space.configs import values_of
from orchestrator.space.declare import make_config_class
from orchestrator.space.knob import Knob, Role


class ParamSpace:
    """A config of defaults and a space over it.

    Args:
        name: Name for the class of its configs.
        defaults: Ray Tune's ``config``; domains in it count as in ``space``.
        space: Domains and values in place of some of the defaults.
        baseline: Values of the baseline in place of some of the defaults.
    """

    def __init__(
        self,
        name: str,
        defaults: Mapping[Any, Any],
        space: Mapping[Any, Any] | None = None,
        baseline: Mapping[Any, Any] | None = None,
    ) -> None:
        self._knobs = Knobs(defaults, space or {}, baseline or {})
        knobs = {
            name: Knob(type=leaf.labels.type, default=leaf.default, role=Role.BOTH, doc=name)
            for name, leaf in self._knobs.leaves.items()
        }
        self.config_class = make_config_class(f"{name}_config", knobs)
        setattr(self.config_class, "__param_space__", self)  # noqa: B010 - unknown to mypy
        setattr(self.config_class, "__getitem__", _item)  # noqa: B010

    @property
    def problems(self) -> dict[str, SweepError]:
        """Faults of the dictionaries, by their text without the place."""
        return self._knobs.problems

    def space(self) -> Any:  # noqa: ANN401 - of the class that is made here
        """Return the config in which the knobs that vary have domains.

        Raises:
            KnobError: A name is none of the knobs.
        """
        given: dict[str, Any] = {name: leaf.given for name, leaf in self._knobs.leaves.items()}
        return self.config_class(**given, **dict.fromkeys(self._knobs.unknown))

    def baseline(self) -> Any:  # noqa: ANN401 - as above
        """Return the config that speed-ups are counted from."""
        return self.config_class(**{name: leaf.start for name, leaf in self._knobs.leaves.items()})

    def dictionary(self, config: object, seed: int = 0) -> dict[Any, Any]:
        """Return the dictionary that a function of Ray Tune gets for a config, newly made.

        Args:
            config: Of the class that is made here.
            seed: Seed of what ``tune.sample_from`` draws.

        Raises:
            ValueError: A ``tune.sample_from`` raises.
        """
        filled: dict[Any, Any] = self._filled(self._knobs.template, values_of(config))
        return resolved(filled, seed) if self._knobs.derived else filled

    def problem_of_derived(self) -> SweepError | None:
        """Return why ``tune.sample_from`` cannot be used, or None."""
        names = self._knobs.derived
        if not names:
            return None
        place = f"{caller(names[0].rpartition('/')[2])}{', '.join(names)}: tune.sample_from"
        try:
            once, again = (self.dictionary(self.baseline(), seed) for seed in (0, 1))
        except ValueError as error:
            return KnobError(f"{place}: {error}", "it is called with the config: config['lr'], say")
        if [*map(label, once.values())] == [*map(label, again.values())]:
            return None
        return KnobError(
            f"{place} draws at random: two trials of one config would not be the same",
            "draw with tune.uniform, tune.choice, ..., and compute the rest from that in "
            "tune.sample_from: {'u': tune.uniform(0, 1), 'x': tune.sample_from(lambda config: "
            "config['u'] * config['a'])}",
        )

    def _filled(self, template: Any, values: Mapping[str, Any]) -> Any:  # noqa: ANN401
        """Return a template with its slots filled; dictionaries and lists are new ones."""
        if isinstance(template, Slot):
            labels = self._knobs.leaves[template.name].labels
            return self._filled(labels.object_of(values[template.name]), values)
        if isinstance(template, dict):
            return {key: self._filled(item, values) for key, item in template.items()}
        if isinstance(template, (list, tuple)):
            plain = list if isinstance(template, list) else tuple
            return plain(self._filled(item, values) for item in template)
        return template


def _item(self: Any, key: Any) -> Any:  # noqa: ANN401 - any config and value
    """Return a value of a config as the function gets it: ``config["model"]["lr"]``."""
    return self.__param_space__.dictionary(self)[key]


def resolved(config: Mapping[Any, Any], seed: int = 0) -> dict[Any, Any]:
    """Return a config with the values of ``tune.sample_from`` computed by Ray Tune's own rules.

    Functions are called in the order of the config, each with all of it: with the dictionary, and
    where that raises with ``spec``, as in ``spec.config.lr``.

    Raises:
        ValueError: A function raises, or needs a value that a later one computes.
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
        raise ValueError("it needs a value of a later tune.sample_from: put that one first")
    return made


@contextmanager
def _seeded(seed: int) -> Iterator[None]:
    """Set the global generators of Python and NumPy, and restore them afterwards."""
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
