"""All options of the command line, each declared once.

A declaration gives the parser's entry, the field of the sweep that the option replaces, whether a
resumed run takes the option over, and the option's line of the help.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, Any, Final, get_origin, get_type_hints

from orchestrator.arguments import cluster_address, one_of
from orchestrator.driver.options.declaration import (
    DEFAULT_EXECUTOR,
    EXECUTORS,
    Group,
    Option,
    contradictions,
    count,
    duration_s,
    folder,
    hours,
    is_of_replay,
    isolation,
    prices,
    replay_settings,
    setting,
)
from orchestrator.search import SEARCHES
from orchestrator.sweep.definition import Sweep
from orchestrator.sweep.overrides import overridden
from orchestrator.trial import Isolation

_TRAINED, _SEARCHED, _PLACE, _RESULTS = Group
*_OTHERS, _LAST = SEARCHES
_EXECUTORS = ", or ".join(f"{name}: {text}" for name, (text, _) in EXECUTORS.items())


@dataclass(frozen=True, kw_only=True)
class Options:
    """The values of a command line; None, False or empty where an option was not given."""

    sweep_file: Path | None = None
    plan: Annotated[bool, Option(_TRAINED, "print what would run, and stop", stored=False)] = False
    data: Annotated[
        str | None,
        Option(_TRAINED, "train on this data set instead of the sweep's", metavar="NAME_OR_PATH"),
    ] = None
    data_root: Annotated[
        Path | None,
        folder(_TRAINED, "where data sets live (default: $SWEEP_DATA, else data/)", stored=True),
    ] = None
    download: Annotated[
        bool, Option(_TRAINED, "fetch the data set if it is absent", stored=False)
    ] = False
    set: Annotated[
        tuple[str, ...],
        Option(
            _TRAINED,
            "fix a knob, in the space and in the baseline; or rigor=PRESET, rigor.NAME=VALUE, "
            "replay.NAME=VALUE; may be repeated",
            metavar="NAME=VALUE",
            read=setting,
            is_list=True,
        ),
    ] = ()
    search: Annotated[
        str | None,
        Option(
            _SEARCHED, f"{', '.join(_OTHERS)} or {_LAST} instead of the sweep's", metavar="NAME"
        ),
    ] = None
    trials: Annotated[int | None, count("configs to try at most")] = None
    seed: Annotated[
        int | None,
        count("seed of the plan and, plus the repeat, of every trial", least=0, replaces="seed"),
    ] = None
    epochs: Annotated[int | None, count("epochs of a whole training", replaces="epochs")] = None
    steps: Annotated[
        int | None, count("optimizer steps of a training at most", replaces="steps")
    ] = None
    warm_start: Annotated[
        tuple[Path, ...],
        folder(
            _SEARCHED, "give the search the results of these runs first", "RUN_DIR", is_list=True
        ),
    ] = ()
    time_budget: Annotated[
        float | None,
        Option(
            _SEARCHED,
            "start no trial after it (90s, 30m, 2h); the rest are rows not_run",
            metavar="30m",
            read=duration_s,
        ),
    ] = None
    core_hours: Annotated[
        float | None,
        Option(
            _SEARCHED,
            "budget of core-hours: cores of each trial times the time that it holds them",
            metavar="X",
            read=hours,
        ),
    ] = None
    cost: Annotated[
        Mapping[str, float] | None,
        Option(
            _SEARCHED,
            "prices of a core and of a GPU for one hour",
            metavar="cpu_hour=0.04,gpu_hour=2.50",
            read=prices,
            replaces="prices",
        ),
    ] = None
    max_concurrent: Annotated[int | None, count("most trials at the same time", _PLACE)] = None
    cores_per_trial: Annotated[
        int | None,
        count(
            "cores of every trial (default: the sweep's, else the node or its part per GPU)",
            _PLACE,
            replaces="cores_per_trial",
        ),
    ] = None
    isolation: Annotated[
        Isolation | None,
        Option(
            _PLACE,
            "how far trials are kept from each other: exclusive, leased or shared",
            metavar="NAME",
            read=isolation,
            replaces="isolation",
        ),
    ] = None
    no_rerun: Annotated[bool, Option(_PLACE, "run no contaminated trial again")] = False
    executor: Annotated[
        str | None,
        Option(
            _PLACE,
            f"{_EXECUTORS} (default: {DEFAULT_EXECUTOR})",
            metavar="NAME",
            read=one_of(*EXECUTORS),
        ),
    ] = None
    table: Annotated[
        Path | None,
        folder(
            _PLACE,
            "run directory whose recorded runs --executor replay plays",
            "RUN_DIR",
            stored=True,
        ),
    ] = None
    address: Annotated[
        str | None,
        Option(_PLACE, "use this existing Ray cluster", metavar="ADDR", read=cluster_address),
    ] = None
    out: Annotated[Path | None, folder(_RESULTS, "run directory (default: runs/SWEEP/TIME)")] = None
    resume: Annotated[Path | None, folder(_RESULTS, "continue an interrupted run")] = None
    tracking_uri: Annotated[
        str | None,
        Option(
            _RESULTS,
            "MLflow (default: $MLFLOW_TRACKING_URI, else an sqlite file under the runs folder)",
            metavar="URI",
        ),
    ] = None
    experiment: Annotated[
        str | None,
        Option(
            _RESULTS,
            "MLflow's experiment (default: $MLFLOW_EXPERIMENT_NAME, else the sweep file's name)",
            metavar="NAME",
        ),
    ] = None
    no_mlflow: Annotated[bool, Option(_RESULTS, "do not write to MLflow")] = False

    @property
    def executor_name(self) -> str:
        """Return the name of the executor that runs the trials."""
        return self.executor or DEFAULT_EXECUTOR

    @property
    def settings(self) -> list[str]:
        """Return the values of ``--set`` for the sweep."""
        return [each for each in self.set if not is_of_replay(each)]

    @property
    def replay(self) -> dict[str, Any]:
        """Return the values of ``--set`` for a replay, by name."""
        return replay_settings(self.set)

    def applied_to(self, sweep: Sweep[Any]) -> Sweep[Any]:
        """Return a sweep as the options change it; see :func:`overridden`."""
        options = DECLARATIONS.items()
        replaced = {o.replaces: getattr(self, name) for name, o in options if o.replaces}
        return overridden(
            sweep,
            settings=self.settings,
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
        values = {name: getattr(self, name) for name, o in DECLARATIONS.items() if o.stored}
        stored: dict[str, Any] = json.loads(json.dumps(values, default=str))
        return stored

    def resuming(self, stored: Mapping[str, Any]) -> Options:
        """Return these options with the stored values of those that are not given again.

        A stored option that contradicts a given one is left out.
        """
        values = self.given()
        if self.set:
            names = {each.partition("=")[0] for each in self.set}
            before = stored.get("set") or ()
            kept = [each for each in before if each.partition("=")[0] not in names]
            values["set"] = (*kept, *self.set)
        for name, declared in DECLARATIONS.items():
            before = stored.get(name)
            if not declared.stored or name in values or before is None:
                continue
            with_it = values | {name: _from_json(declared, before)}
            if not list(contradictions(with_it)):
                values = with_it
        return Options(**values)


DECLARATIONS: Final[Mapping[str, Option]] = {
    name: hint.__metadata__[0]
    for name, hint in get_type_hints(Options, include_extras=True).items()
    if get_origin(hint) is Annotated
}
"""The declarations by field of :class:`Options`, in the order in which they are documented."""


def _from_json(option: Option, value: Any) -> Any:  # noqa: ANN401 - plain JSON values
    if isinstance(value, list):
        return tuple(map(option.read, value))
    return option.read(value) if isinstance(value, str) else value
