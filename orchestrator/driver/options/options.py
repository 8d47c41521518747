"""All options of the command line, each declared once.

A declaration gives the parser's entry, the field of the sweep that the option replaces, whether a
resumed run takes the option over, and the option's row in ``docs/command-line.md``.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Final

from orchestrator.driver.budgets.budgets import Prices
from orchestrator.driver.executors import DEFAULT_EXECUTOR
from orchestrator.driver.options.contradictions import contradictions
from orchestrator.driver.options.declaration import Option, flag
from orchestrator.driver.options.place import PlaceOptions
from orchestrator.driver.options.question import QuestionOptions
from orchestrator.driver.options.settings import (
    is_of_replay,
    merged,
    replay_settings,
    with_old_options,
)
from orchestrator.errors import RunDirectoryError
from orchestrator.field_types import shown, wrong_fields
from orchestrator.sweep.overrides import Overrides
from orchestrator.trial import Isolation


@dataclass(frozen=True, kw_only=True)
class Options(PlaceOptions, QuestionOptions):
    """The values of a command line; None, False or empty where an option was not given."""

    @property
    def executor_name(self) -> str:
        """Return the name of the executor that runs the trials."""
        return self.executor or DEFAULT_EXECUTOR

    @property
    def replay(self) -> dict[str, Any]:
        """Return the values that a replay is given by ``--set``, by name."""
        return replay_settings(self.set)

    def overrides(self) -> Overrides:
        """Return the changes that the options make to a sweep."""
        options = DECLARATIONS.items()
        replaced = {o.replaces: getattr(self, name) for name, o in options if o.replaces}
        replaced["prices"] = None if self.cost is None else self.cost.by_name
        return Overrides(
            settings=[each for each in self.set if not is_of_replay(each)],
            search=self.search,
            trials=self.trials,
            fields={name: value for name, value in replaced.items() if value is not None},
        )

    def given(self) -> dict[str, Any]:
        """Return the options that were given, by name."""
        values = {entry.name: (getattr(self, entry.name), entry.default) for entry in fields(self)}
        return {name: value for name, (value, default) in values.items() if value != default}

    def stored(self) -> dict[str, Any]:
        """Return the options that a resumed run takes over, as JSON values by name."""
        options = DECLARATIONS.items()
        return {name: _to_json(getattr(self, name)) for name, o in options if o.stored}

    def resuming(self, stored: Mapping[str, Any]) -> Options:
        """Return these options with the stored ones where they are not given again.

        A stored option that contradicts a given one is left out.

        Raises:
            RunDirectoryError: A stored value is none that the option can have.
        """
        values, stored = self.given(), with_old_options(stored)
        if self.set:
            values["set"] = merged(stored.get("set"), self.set)
        for name, declared in DECLARATIONS.items():
            before = stored.get(name)
            if not declared.stored or name in values or before is None:
                continue
            with_it = values | {name: _from_json(name, declared, before)}
            if not list(contradictions(with_it)):
                values = with_it
        options = Options(**values)
        for wrong in wrong_fields(options):
            text = f"the run was started with {flag(wrong.field)} {shown(wrong.value)}"
            raise RunDirectoryError(f"{text}: allowed is {wrong.allowed}", "start a new run")
        return options


DECLARATIONS: Final[Mapping[str, Option]] = {
    entry.name: entry.metadata["option"] for entry in fields(Options) if entry.metadata
}
"""The declarations by field of :class:`Options`, in the order in which they are documented."""


def _to_json(value: object) -> object:
    if isinstance(value, tuple):
        return list(value)
    return str(value) if isinstance(value, (Path, Isolation, Prices)) else value


def _from_json(name: str, option: Option, value: Any) -> Any:  # noqa: ANN401 - plain JSON values
    try:
        if isinstance(value, list) and all(isinstance(each, str) for each in value):
            return tuple(map(option.read, value))
        return option.read(value) if isinstance(value, str) else value
    except argparse.ArgumentTypeError as error:
        text = f"the run was started with {flag(name)} {value}: {error}"
        raise RunDirectoryError(text, "start a new run") from None
