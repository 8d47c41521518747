"""All options of the command line, each declared once.

A declaration gives the parser's entry, the field of the sweep that the option replaces, whether a
resumed run takes the option over, and the option's line of the help.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, Final

from orchestrator.arguments import Names, cluster_address, typed
from orchestrator.driver.budgets import Budgets
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
    of_sweep,
    option,
    setting,
)
from orchestrator.errors import RunDirectoryError
from orchestrator.search import SEARCHES, Asha
from orchestrator.storage.sweep_record import SweepRecord, read_sweep
from orchestrator.sweep.definition import Sweep
from orchestrator.sweep.problem import overridden
from orchestrator.trial import Isolation

_TRAINED, _SEARCHED, _PLACE, _RESULTS = Group
*_OTHERS, _LAST = SEARCHES
_STOPPING: Final = {"asha": Asha(), "none": None}
_EXECUTORS = ", or ".join(f"{name}: {text}" for name, text in EXECUTORS.items())


@dataclass(frozen=True, kw_only=True)
class Options:
    """The values of a command line; None, False or empty where an option was not given."""

    sweep_file: Path | None = None
    plan: bool = option(_TRAINED, "print what would run, and stop", stored=False)
    data: str | None = option(
        _TRAINED, "train on this data set instead of the sweep's", "NAME_OR_PATH"
    )
    data_root: Path | None = folder(
        _TRAINED, "where data sets live (default: $SWEEP_DATA, else data/)", stored=True
    )
    download: bool = option(_TRAINED, "fetch the data set if it is absent", stored=False)
    set: tuple[str, ...] = option(
        _TRAINED,
        "fix a knob, in the space and in the baseline; or rigor=PRESET, rigor.NAME=VALUE, "
        "prices.NAME=VALUE, replay.NAME=VALUE; may be repeated",
        "NAME=VALUE",
        read=setting,
        is_list=True,
    )
    search: str | None = option(
        _SEARCHED,
        f"{', '.join(_OTHERS)} or {_LAST} instead of the sweep's",
        "NAME",
        read=Names(SEARCHES),
    )
    stopping: str | None = option(
        _SEARCHED, "asha ends trials at rungs, none trains all", "NAME", read=Names(_STOPPING)
    )
    trials: int | None = count("configs to try at most")
    seed: int | None = count(
        "seed of the plan and, plus the repeat, of every trial", least=0, replaces="seed"
    )
    epochs: int | None = count("epochs of a whole training", replaces="epochs")
    steps: int | None = count("optimizer steps of a training at most", replaces="steps")
    warm_start: tuple[Path, ...] = folder(
        _SEARCHED, "give the search the results of these runs first", "RUN_DIR", is_list=True
    )
    time_budget: float | None = option(
        _SEARCHED,
        "start no trial after it (90s, 30m, 2h); the rest are rows not_run",
        "30m",
        read=duration_s,
    )
    core_hours: float | None = option(
        _SEARCHED,
        "budget of core-hours: cores of each trial times the time that it holds them",
        "X",
        read=hours,
    )
    max_concurrent: int | None = count("most trials at the same time", _PLACE)
    cores_per_trial: int | None = count(
        "cores of every trial (default: the sweep's, else the node or its part per GPU)",
        _PLACE,
        replaces="cores_per_trial",
    )
    isolation: Isolation | None = option(
        _PLACE,
        "how far trials are kept from each other: exclusive, leased or shared",
        "NAME",
        read=Names(tuple(Isolation)),
        replaces="isolation",
    )
    no_rerun: bool = option(_PLACE, "run no contaminated trial again")
    executor: str | None = option(
        _PLACE, f"{_EXECUTORS} (default: {DEFAULT_EXECUTOR})", "NAME", read=Names(EXECUTORS)
    )
    address: str | None = option(
        _PLACE, "use this existing Ray cluster", "ADDR", read=cluster_address
    )
    out: Path | None = folder(_RESULTS, "run directory (default: runs/SWEEP/TIME)")
    resume: Path | None = folder(_RESULTS, "continue an interrupted run")
    tracking_uri: str | None = option(
        _RESULTS,
        "MLflow (default: $MLFLOW_TRACKING_URI, else an sqlite file under the runs folder)",
        "URI",
    )
    experiment: str | None = option(
        _RESULTS,
        "MLflow's experiment (default: $MLFLOW_EXPERIMENT_NAME, else the sweep file's name)",
        "NAME",
    )
    no_mlflow: bool = option(_RESULTS, "do not write to MLflow")
    on_end: str | None = option(
        _RESULTS,
        "run this in a shell at the end, with $SWEEP_RUN and $SWEEP_EXIT_CODE",
        "CMD",
        stored=False,  # it is code, and a run directory is not
    )

    @property
    def executor_name(self) -> str:
        """Return the name of the executor that runs the trials."""
        return self.executor or DEFAULT_EXECUTOR

    @property
    def run_dir(self) -> Path | None:
        """Return the run directory that is named, a new one or that of an earlier run; or None."""
        return self.resume or self.out

    @property
    def budgets(self) -> Budgets:
        """Return the limits of what the trials may take together."""
        return Budgets(time_s=self.time_budget, core_hours=self.core_hours)

    def applied_to(self, sweep: Sweep[Any]) -> Sweep[Any]:
        """Return a sweep as the options change it; see :func:`overridden`."""
        options = DECLARATIONS.items()
        replaced = {o.replaces: getattr(self, name) for name, o in options if o.replaces}
        return overridden(
            sweep,
            settings=of_sweep(self.set),
            search=self.search,
            trials=self.trials,
            fields={
                **{name: value for name, value in replaced.items() if value is not None},
                **({"stopping": _STOPPING[self.stopping]} if self.stopping else {}),
            },
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

    def completed(self) -> "tuple[Options, SweepRecord | None]":
        """Return the options with those of the run that is resumed, and its record; or None.

        Raises:
            RunDirectoryError: It is no run, a replay, or its sweep file is gone or has changed.
        """
        if self.resume is None:
            return self, None
        before = read_sweep(self.resume)
        if before.replayed:
            raise RunDirectoryError(
                f"--resume {self.resume}: is a replay, which cannot be resumed", "start it again"
            )
        # Its search is extended, not replaced.
        options = replace(self, trials=None).resuming(before.options)
        if options.sweep_file is None:
            named = typed("orchestrator", [Path(before.file), "--resume", self.resume])
            own = before.own_file(f"name the file to run: {named}")
            options = replace(options, sweep_file=own)
        return options, before

    def resuming(self, stored: Mapping[str, Any]) -> "Options":
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
            value = stored.get(name)
            if not declared.stored or name in values or value is None:
                continue
            if isinstance(value, list):
                value = tuple(map(declared.read, value))
            elif isinstance(value, str):
                value = declared.read(value)
            if not list(contradictions(with_it := values | {name: value})):
                values = with_it
        return Options(**values)


DECLARATIONS: Final[Mapping[str, Option]] = {
    entry.name: entry.metadata["option"] for entry in fields(Options) if entry.metadata
}
"""The declarations by field of :class:`Options`, in the order in which they are documented."""
