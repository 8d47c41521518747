"""Options of the place: where trials run, and what a run leaves behind."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from orchestrator.arguments import a_path, cluster_address, one_of
from orchestrator.driver.executors import DEFAULT_EXECUTOR, EXECUTORS
from orchestrator.driver.options.declaration import Group, count, isolation, option
from orchestrator.trial import Isolation


@dataclass(frozen=True, kw_only=True)
class PlaceOptions:
    """Options of the place; None, False or empty where an option was not given."""

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
            more=" ([what they mean](measurement.md#cores))",
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
    address: str | None = field(
        default=None,
        metadata=option(
            Group.PLACE,
            "use this existing Ray cluster",
            metavar="ADDR",
            read=cluster_address,
            stored=True,
            more=": `HOST:PORT` of its head ([clusters](clusters.md))",
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
    experiment: str | None = field(
        default=None,
        metadata=option(
            Group.RESULTS,
            "MLflow's experiment (default: $MLFLOW_EXPERIMENT_NAME, else the sweep file's name)",
            metavar="NAME",
            stored=True,
        ),
    )
    no_mlflow: bool = field(
        default=False, metadata=option(Group.RESULTS, "do not write to MLflow", stored=True)
    )
