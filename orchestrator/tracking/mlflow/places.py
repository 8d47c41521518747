"""MLflow's places: tracking URIs, the folder for artifacts, the command that opens its pages."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from orchestrator.commands import short, typed
from orchestrator.errors import SweepError, nearest

DATABASES = ("sqlite", "postgresql", "mysql", "mssql")
SERVERS = ("http", "https", "databricks")
SCHEMES = DATABASES + SERVERS
_HIDDEN = ":***@"
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
    # Threads of numerical libraries would run beside the trials.
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
}
"""Environment of the process that writes MLflow, whatever the user set."""

DEFAULTS: Mapping[str, str] = {"MLFLOW_HTTP_REQUEST_TIMEOUT": "10"}
"""Its environment where the user set nothing."""


def default_uri(runs_folder: Path) -> str:
    """Return the URI of a sqlite file in the folder that holds the runs of all sweeps."""
    return f"sqlite:///{runs_folder.resolve() / 'mlflow.db'}"


def checked_uri(uri: str) -> str:
    """Return ``uri`` with a sqlite file's path made absolute.

    Raises:
        SweepError: MLflow's run tables cannot be there.
    """
    if _HIDDEN in uri:
        raise SweepError(
            f"--tracking-uri {uri}: its password is not kept with the run",
            "give --tracking-uri again",
        )
    scheme = uri.partition(":")[0].partition("+")[0]
    if "://" not in uri and scheme != "databricks":
        raise SweepError(f"--tracking-uri {uri}: is not a URI", _allowed())
    if scheme not in SCHEMES:
        raise SweepError(
            f"--tracking-uri {uri}: unknown scheme {scheme!r}{nearest(scheme, SCHEMES)}", _allowed()
        )
    path = sqlite_path(uri)
    return uri if path is None else f"sqlite:///{path}{_query(uri)}"


def _allowed() -> str:
    return (
        "allowed: sqlite:///FILE, http(s)://HOST:PORT, postgresql://..., mysql://..., mssql://..., "
        "databricks (a folder of files is too slow)"
    )


def sqlite_path(uri: str) -> Path | None:
    """Return the absolute path of the file of a sqlite URI; None for others."""
    if not uri.startswith("sqlite:///"):
        return None
    return Path(uri.removeprefix("sqlite:///").partition("?")[0]).expanduser().absolute()


def _query(uri: str) -> str:
    return "?" + uri.partition("?")[2] if "?" in uri else ""


def artifact_root(uri: str, run_dir: Path) -> Path | None:
    """Return the folder for the artifacts: beside a database; None where a server keeps them."""
    if uri.partition(":")[0] in SERVERS:
        return None
    file = sqlite_path(uri)
    return (run_dir.absolute().parent if file is None else file.parent) / "mlflow-artifacts"


def without_password(uri: str) -> str:
    """Return a URI, or a word that has one, without its password."""
    return re.sub(r"(//[^:/@]*):[^@/]*@", rf"\1{_HIDDEN}", uri)


def how_to_open(uri: str, experiment_id: str, run_id: str) -> list[str]:
    """Return what shows a run in MLflow's pages, a line each: a command, and the address then."""
    if uri.startswith("http"):
        return [_address(without_password(uri).rstrip("/"), experiment_id, run_id)]
    if uri.partition("+")[0].partition(":")[0] not in DATABASES:
        return [f"experiment {experiment_id}, run {run_id} at {uri}"]
    path = sqlite_path(uri)
    shown = without_password(uri) if path is None else f"sqlite:///{short(path)}"
    command = typed("mlflow", ["ui", "--backend-store-uri", shown], program="mlflow")
    return [command, f"then {_address(_OWN_SERVER, experiment_id, run_id)}"]


def _address(server: str, experiment_id: str, run_id: str) -> str:
    # Without the parameter the page opens among MLflow's features for language models.
    return f"{server}/#/experiments/{experiment_id}/runs/{run_id}?{MODEL_TRAINING}"
