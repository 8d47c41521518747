"""The options of the command line, each declared once.

A declaration gives the parser's entry, the field of the sweep that the option replaces, whether a
resumed run takes the option over, and the option's row in ``docs/command-line.md``.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Final

from orchestrator.arguments import a_path, one_of, whole_number
from orchestrator.driver.budgets.budgets import Prices
from orchestrator.driver.declaration import (
    Group,
    Option,
    count,
    duration_s,
    flag,
    isolation,
    limit,
    option,
)
from orchestrator.driver.executors import DEFAULT_EXECUTOR, EXECUTORS
from orchestrator.errors import RunDirectoryError, SweepError
from orchestrator.search import SEARCHES
from orchestrator.sweep.overrides import Overrides
from orchestrator.trial import Isolation


def _listed(names: Mapping[str, object]) -> str:
    *others, last = names
    return f"{', '.join(others)} or {last}"


@dataclass(frozen=True, kw_only=True)
class Options:
    """The values of a command line; None, False or empty where an option was not given."""

    sweep_file: Path | None = None
    plan: bool = field(
        default=False,
        metadata=option(
            Group.TRAINED,
            "print what would run, and stop",
            more=": the data set by its headers, the trials of each stage, what was merged, what "
            "cannot run here and why, cores, how many run at the same time, the expected time",
        ),
    )
    data: str | None = field(
        default=None,
        metadata=option(
            Group.TRAINED,
            "train on this data set instead of the sweep's",
            metavar="NAME_OR_PATH",
            stored=True,
        ),
    )
    data_root: Path | None = field(
        default=None,
        metadata=option(
            Group.TRAINED,
            "where data sets live (default: $SWEEP_DATA, else data/)",
            metavar="DIR",
            read=a_path,
            stored=True,
            more=". Only a download writes there",
        ),
    )
    download: bool = field(
        default=False,
        metadata=option(
            Group.TRAINED,
            "fetch the data set if it is absent",
            more="; nothing is ever fetched without it",
        ),
    )
    set: tuple[str, ...] = field(
        default=(),
        metadata=option(
            Group.TRAINED,
            "fix a knob, in the space and in the baseline; may be repeated",
            metavar="KNOB=VALUE",
            is_list=True,
            stored=True,
            more=". A tuple is written `15,10`",
        ),
    )
    search: str | None = field(
        default=None,
        metadata=option(
            Group.SEARCHED,
            f"{_listed(SEARCHES)} instead of the sweep's",
            metavar="NAME",
            stored=True,
        ),
    )
    trials: int | None = field(
        default=None,
        metadata=count(
            "configs to try at most",
            more=". With `--resume` a larger N extends the search ([extending](#extending-a-run))",
        ),
    )
    seed: int | None = field(
        default=None,
        metadata=count(
            "seed of the plan and, plus the repeat, of every trial", least=0, replaces="seed"
        ),
    )
    repeats: int | None = field(
        default=None,
        metadata=count("runs of every config, each in a fresh process", replaces="repeats"),
    )
    epochs: int | None = field(
        default=None, metadata=count("epochs of a whole training", replaces="epochs")
    )
    steps: int | None = field(
        default=None, metadata=count("optimizer steps of a training at most", replaces="steps")
    )
    confirm: int | None = field(
        default=None,
        metadata=count(
            "runs of each config in the confirm stage, no more and no fewer",
            least=0,
            replaces="confirm",
            more=": the sweep's `max_confirm` is N too. 0: no such stage, and no claim",
        ),
    )
    warm_start: tuple[Path, ...] = field(
        default=(),
        metadata=option(
            Group.SEARCHED,
            "tell the search the results of these runs first",
            metavar="RUN_DIR",
            is_list=True,
            read=a_path,
            more=" ([warm start](sweep-files.md#warm-start))",
        ),
    )
    retries: int | None = field(
        default=None,
        metadata=count("how often a failed trial is tried again", least=0, replaces="retries"),
    )
    time_budget: float | None = field(
        default=None,
        metadata=option(
            Group.SEARCHED,
            "start no trial after it (90s, 30m, 2h); the rest are rows not_run",
            metavar="30m",
            read=duration_s,
            stored=True,
            more=" ([budgets](#budgets))",
        ),
    )
    core_hours: float | None = field(
        default=None,
        metadata=limit(
            "budget of core-hours: cores of each trial times the time that it holds them",
            "a number of hours",
        ),
    )
    gpu_hours: float | None = field(
        default=None, metadata=limit("budget of GPU-hours, counted likewise", "a number of hours")
    )
    cost: Prices | None = field(
        default=None,
        metadata=option(
            Group.SEARCHED,
            "prices of a core and of a GPU for one hour",
            metavar="cpu_hour=0.04,gpu_hour=2.50",
            read=Prices.read,
            stored=True,
            more="; either may be left out. They replace the sweep's `prices`",
        ),
    )
    max_cost: float | None = field(
        default=None,
        metadata=limit(
            "budget in the unit of the prices",
            "a cost",
            more=". It takes `--cost`, or the sweep's `prices`",
        ),
    )
    max_concurrent: int | None = field(
        default=None, metadata=count("most trials at the same time", Group.PLACE)
    )
    cores_per_trial: int | None = field(
        default=None,
        metadata=count(
            "cores of every trial (default: the sweep's, else the node or its part per GPU)",
            Group.PLACE,
            replaces="cores_per_trial",
            more=". More than the node has means the whole node, and is noted",
        ),
    )
    isolation: Isolation | None = field(
        default=None,
        metadata=option(
            Group.PLACE,
            "how far trials are kept from each other: exclusive, leased or shared",
            metavar="NAME",
            read=isolation,
            stored=True,
            replaces="isolation",
            more=" ([what they mean](isolation.md#cores))",
        ),
    )
    executor: str | None = field(
        default=None,
        metadata=option(
            Group.PLACE,
            ", or ".join(f"{name}: {kind.doc}" for name, kind in EXECUTORS.items())
            + f" (default: {DEFAULT_EXECUTOR})",
            metavar="NAME",
            read=one_of(*EXECUTORS),
            stored=True,
        ),
    )
    table: Path | None = field(
        default=None,
        metadata=option(
            Group.PLACE,
            "run directory whose recorded runs --executor replay plays",
            metavar="RUN_DIR",
            read=a_path,
            stored=True,
            more=" ([replay](replay.md))",
        ),
    )
    cores: int | None = field(
        default=None,
        metadata=option(
            Group.PLACE,
            "cores of a simulated node that trials may use (default: as recorded)",
            metavar="N",
            read=whole_number(1),
            stored=True,
        ),
    )
    nodes: int | None = field(
        default=None,
        metadata=option(
            Group.PLACE,
            "simulated nodes (default: as recorded)",
            metavar="N",
            read=whole_number(1),
            stored=True,
        ),
    )
    reuse_repeats: bool = field(
        default=False,
        metadata=option(
            Group.PLACE,
            "replay a recorded run again once all of its config were",
            stored=True,
            more="; what selects may then be what is claimed on",
        ),
    )
    address: str | None = field(
        default=None,
        metadata=option(
            Group.PLACE,
            "use this existing Ray cluster",
            metavar="ADDR",
            stored=True,
            more=" ([clusters](clusters.md))",
        ),
    )
    out: Path | None = field(
        default=None,
        metadata=option(
            Group.RESULTS,
            "run directory (default: runs/SWEEP/TIME)",
            metavar="DIR",
            read=a_path,
            more=". One driver at a time",
        ),
    )
    resume: Path | None = field(
        default=None,
        metadata=option(
            Group.RESULTS,
            "go on with an interrupted run",
            metavar="DIR",
            read=a_path,
            more=": nothing done twice, nothing lost. Options not given again are those it was "
            "started with; the sweep file may be left out. With `--plan` it prints the plan of "
            "that run, what is done and what is left. A run of an earlier version's format is "
            "refused",
        ),
    )
    tracking_uri: str | None = field(
        default=None,
        metadata=option(
            Group.RESULTS,
            "MLflow (default: $MLFLOW_TRACKING_URI, else an sqlite file under the runs folder)",
            metavar="URI",
            stored=True,
            more=": `sqlite:///FILE`, `http(s)://HOST:PORT`, `postgresql://...`, "
            "`mysql://...`, `mssql://...` or `databricks`",
        ),
    )
    no_mlflow: bool = field(
        default=False, metadata=option(Group.RESULTS, "do not write to MLflow", stored=True)
    )

    @property
    def executor_name(self) -> str:
        """Return the name of the executor that runs the trials."""
        return self.executor or DEFAULT_EXECUTOR

    def overrides(self) -> Overrides:
        """Return the changes that the options make to a sweep."""
        options = DECLARATIONS.items()
        replaced = {o.replaces: getattr(self, name) for name, o in options if o.replaces}
        replaced["max_confirm"] = self.confirm
        replaced["prices"] = None if self.cost is None else self.cost.by_name
        return Overrides(
            settings=self.set,
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
        values = self.given()
        for name, declared in DECLARATIONS.items():
            before = stored.get(name)
            if not declared.stored or name in values or before is None:
                continue
            with_it = values | {name: _from_json(name, declared, before)}
            if not list(contradictions(with_it)):
                values = with_it
        return Options(**values)


DECLARATIONS: Final[Mapping[str, Option]] = {
    entry.name: entry.metadata["option"] for entry in fields(Options) if entry.metadata
}
"""The declarations by field of :class:`Options`, in the order in which they are documented."""


def contradictions(given: Mapping[str, Any]) -> Iterator[SweepError]:
    """Yield an error for each two of the options given that contradict each other."""
    pairs = [("out", "resume"), ("warm_start", "resume"), ("tracking_uri", "no_mlflow")]
    texts = [
        f"{flag(one)} and {flag(two)}" for one, two in pairs if given.get(one) and given.get(two)
    ]
    executor = given.get("executor") or DEFAULT_EXECUTOR
    if given.get("address") and not EXECUTORS[executor].on_clusters:
        texts.append(f"--address and --executor {executor}")
    for text in texts:
        yield SweepError(f"{text} contradict each other", "leave one of them out")
    yield from _of_a_replay(given, is_replay=EXECUTORS[executor].simulated)


def _of_a_replay(given: Mapping[str, Any], *, is_replay: bool) -> Iterator[SweepError]:
    """Yield an error for a replay without a table, and for its options without a replay."""
    if is_replay and not given.get("table"):
        yield SweepError(
            "--executor replay: no table to replay",
            "give the directory of a run: --table RUN_DIR",
        )
    for name in ("table", "cores", "nodes", "reuse_repeats"):
        if given.get(name) and not is_replay:
            yield SweepError(f"{flag(name)} is for replays", "give --executor replay with it")


def _to_json(value: object) -> object:
    if isinstance(value, tuple):
        return list(value)
    return str(value) if isinstance(value, (Path, Isolation, Prices)) else value


def _from_json(name: str, option: Option, value: Any) -> Any:  # noqa: ANN401 - plain JSON values
    try:
        if isinstance(value, list):
            return tuple(map(option.read, value))
        return option.read(value) if isinstance(value, str) else value
    except argparse.ArgumentTypeError as error:
        text = f"the run was started with {flag(name)} {value}: {error}"
        raise RunDirectoryError(text, "start a new run") from None
