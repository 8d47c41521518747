"""MLflow's places: the default one, the folder for artifacts, the command that opens its pages."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from orchestrator.commands import short, typed
from orchestrator.errors import SweepError
from orchestrator.texts import bounded_name
from orchestrator.tracking.mlflow.uris import DATABASES, SERVERS, scheme_of, shown, sqlite_path

_OWN_SERVER = "http://127.0.0.1:5000"
"""Where ``mlflow ui`` listens if it is told nothing else."""

MODEL_TRAINING = "workflowType=machine_learning"
"""Parameter of an address with which MLflow's pages open on runs and metrics."""

ENVIRONMENT: Mapping[str, str] = {
    # No word to anyone but the tracking URI.
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "DO_NOT_TRACK": "true",
    # A request that MLflow repeated by itself could create a second run.
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "0",
    # What is written is there when the call returns.
    "MLFLOW_ENABLE_ASYNC_LOGGING": "false",
    # Threads of numerical libraries would run beside the trials.
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
}
"""Environment of the process that writes MLflow, whatever the user set."""

DEFAULTS: Mapping[str, str] = {"MLFLOW_HTTP_REQUEST_TIMEOUT": "10"}
"""Its environment where the user set nothing."""


_UNCLEAR: Final = re.compile(r"\?|%[0-9a-fA-F]{2}|[\x00-\x1f\x7f\ud800-\udfff]")
"""The start of a query, what MLflow takes for a quoted character, and what no URI has."""

_THIS_MACHINE: Final = ("localhost", "127.0.0.1", "::1")
PROXIES: Final = ("http_proxy", "https_proxy", "all_proxy")


def beside_a_proxy(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the variable by which a server on this machine is not asked for through a proxy.

    Libraries for HTTP ask a proxy for ``127.0.0.1`` too, which there is the proxy itself. Without
    a proxy nothing has to be set.
    """
    if not any(environment.get(name) or environment.get(name.upper()) for name in PROXIES):
        return {}
    given = environment.get("no_proxy") or environment.get("NO_PROXY") or ""
    names = [name.strip() for name in given.split(",") if name.strip()]
    return {"no_proxy": ",".join(dict.fromkeys([*names, *_THIS_MACHINE]))}


def default_uri(runs_folder: Path) -> str:
    """Return the URI of a sqlite file in the folder that holds the runs of all sweeps.

    Raises:
        SweepError: A URI cannot name the folder as SQLAlchemy and MLflow both read it.
    """
    folder = str(runs_folder.resolve())
    if (unclear := _UNCLEAR.search(folder)) is not None:
        raise SweepError(
            f"{bounded_name(folder)}: MLflow cannot keep its database there: the path has "
            f"{unclear.group()!r}",
            "give --tracking-uri sqlite:////FOLDER/mlflow.db, or --no-mlflow",
        )
    return f"sqlite:///{folder}/mlflow.db"


def artifact_root(uri: str, run_dir: Path) -> Path | None:
    """Return the folder for the artifacts: beside a database; None where a server keeps them."""
    if scheme_of(uri) not in DATABASES:
        return None
    file = sqlite_path(uri)
    return (run_dir.absolute().parent if file is None else file.parent) / "mlflow-artifacts"


def how_to_open(uri: str, experiment_id: str, run_id: str) -> list[str]:
    """Return what shows a run in MLflow's pages, a line each: a command, and the address then."""
    scheme = scheme_of(uri)
    if scheme in SERVERS:
        return [_address(shown(uri).rstrip("/"), experiment_id, run_id)]
    if scheme not in DATABASES:
        return [f"experiment {experiment_id}, run {run_id} at {shown(uri)}"]
    path = sqlite_path(uri)
    is_file = path is not None and "?" not in uri
    store = f"sqlite:///{short(path)}" if is_file and path is not None else shown(uri)
    command = typed("mlflow", ["ui", "--backend-store-uri", store], program="mlflow")
    return [command, f"then {_address(_OWN_SERVER, experiment_id, run_id)}"]


def _address(server: str, experiment_id: str, run_id: str) -> str:
    # Without the parameter the page opens among MLflow's features for language models.
    return f"{server}/#/experiments/{experiment_id}/runs/{run_id}?{MODEL_TRAINING}"
