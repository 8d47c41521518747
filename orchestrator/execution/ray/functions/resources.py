"""Needs of a trial of a Ray Tune function, and conditions on its dictionary."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from orchestrator.errors import SweepFileError
from orchestrator.locations import caller
from orchestrator.machine import Machine
from orchestrator.trainable import Demand


class OnDictionary:
    """A function of the dictionary and a machine, called with a config."""

    def __init__(self, function: Callable[[dict[str, Any], Machine], Any]) -> None:
        self._function = function
        self.__code__ = getattr(function, "__code__", None)  # for messages that name its place

    def __call__(self, config: Any, machine: Machine) -> Any:  # noqa: ANN401 - any config, answer
        """Return what the function returns for the dictionary of ``config``."""
        return self._function(type(config).__param_space__.dictionary(config), machine)


class OwnResources:
    """Demand of what ``tune.with_resources`` or a class asks for: whole GPUs.

    Cores are the sweep's, the same for every config.
    """

    def __init__(self, function: Any, gpus: int) -> None:  # noqa: ANN401 - a function or a class
        self._gpus = gpus
        self._resources = getattr(function, "_resources", None)
        if isinstance(function, type):
            self._resources = function.default_resource_request  # type: ignore[attr-defined]
        if not callable(self._resources) or hasattr(self._resources, "bundles"):
            self._gpus = self._gpus or _whole_gpus(self._resources)
            self._resources = None

    def __call__(self, config: dict[str, Any], _machine: Machine) -> Demand:
        """Return the demand of a config.

        Raises:
            SweepFileError: It asks for a part of a GPU.
        """
        if self._gpus or self._resources is None:
            return Demand(gpus=self._gpus)
        return Demand(gpus=_whole_gpus(self._resources(config)))


def _whole_gpus(resources: Any) -> int:  # noqa: ANN401 - Ray's own class, or a dictionary
    """Return the GPUs that were asked for.

    Raises:
        SweepFileError: They are a part of one: a trial has whole GPUs.
    """
    if isinstance(resources, Mapping):
        asked = resources.get("gpu", 0)
    else:
        asked = getattr(resources, "required_resources", {}).get("GPU", 0)
    if asked != int(asked):
        message = f"{caller()}from_ray: it asks for {asked:g} GPUs"
        raise SweepFileError(message, "give it whole ones, by tune.with_resources or gpus=...")
    return int(asked)
