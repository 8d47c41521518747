"""Ray Tune's ``config`` and ``param_space`` as a config class, and the way back to the dictionary.

Each value of the dictionary, at any depth, is a knob named ``outer/inner``. Where the space has a
domain, the knob varies.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from orchestrator.errors import KnobError, SweepError
from orchestrator.execution.ray.functions.derived import resolved
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
        knobs = {name: self._knob(name) for name in self._knobs.leaves}
        self.config_class = make_config_class(f"{name}_config", knobs)
        setattr(self.config_class, "__param_space__", self)  # noqa: B010 - mypy knows no such one
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
        """Return what a function of Ray Tune gets for a config, newly made.

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
        if label(once) == label(again) and all(map(_is_alike, once.values(), again.values())):
            return None
        return KnobError(
            f"{place} draws at random: two trials of one config would not be the same",
            "draw with tune.uniform, tune.choice, ..., and compute the rest from that in "
            "tune.sample_from: {'u': tune.uniform(0, 1), 'x': tune.sample_from(lambda config: "
            "config['u'] * config['a'])}",
        )

    def _knob(self, name: str) -> Knob:
        leaves = self._knobs.leaves
        wanted = [
            (each.name, leaves[each.name].labels.value_of(each.option))
            for each in leaves[name].conditions
            if each.name in leaves
        ]

        def applies(config: object) -> bool:
            return all(getattr(config, other) == value for other, value in wanted)

        return Knob(
            type=leaves[name].labels.type,
            default=leaves[name].default,
            role=Role.BOTH,
            doc=name,
            applies=applies if wanted else None,
        )

    def _filled(self, template: Any, values: Mapping[str, Any]) -> Any:  # noqa: ANN401
        """Return a template with its slots filled; dictionaries and lists are new ones."""
        if isinstance(template, Slot):
            labels = self._knobs.leaves[template.name].labels
            return self._filled(labels.object_of(values[template.name]), values)
        if isinstance(template, dict):  # of Ray Tune, too, these come back as plain ones
            return {key: self._filled(item, values) for key, item in template.items()}
        if isinstance(template, (list, tuple)):
            plain = list if isinstance(template, list) else tuple
            return plain(self._filled(item, values) for item in template)
        return template


def _is_alike(one: object, other: object) -> bool:
    return label(one) == label(other)


def _item(self: Any, key: Any) -> Any:  # noqa: ANN401 - any config and value
    """Return a value of a config as the function gets it: ``config["model"]["lr"]``."""
    return self.__param_space__.dictionary(self)[key]
