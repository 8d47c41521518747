"""Tracking URIs: which are allowed, how they are shown without secrets, what opens their pages."""

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final
from urllib.parse import unquote

from orchestrator.arguments import typed
from orchestrator.errors import SweepError, nearest
from orchestrator.locations import named_path, short
from orchestrator.texts import bounded

DATABASES: Final = ("sqlite", "postgresql", "mysql", "mssql")
SERVERS: Final = ("http", "https")
DATABRICKS: Final = "databricks"
SCHEMES: Final = (*DATABASES, *SERVERS, DATABRICKS)

OPTION: Final = "--tracking-uri"
HIDDEN: Final = "***"
MODEL_TRAINING: Final = "workflowType=machine_learning"
"""Parameter of an address with which MLflow's pages open on runs and metrics."""

_SQLITE: Final = "sqlite:///"
_WITHOUT_JOBS: Final = "MLFLOW_SERVER_ENABLE_JOB_EXECUTION=false"
_OWN_SERVER: Final = "http://127.0.0.1:5000"
"""Default address of ``mlflow ui``."""
_USER: Final = re.compile("://(.*)@")
_VARIABLES: Final = ("MLFLOW_TRACKING_PASSWORD", "MLFLOW_TRACKING_TOKEN", "PGPASSWORD")
_CAUSE: Final = re.compile(r"\(Caused by (.*)\)")
_MOST_SHOWN: Final = 200
"""Characters of a reason that are shown."""


def checked_uri(uri: str, given_by: str = OPTION) -> str:
    """Return ``uri`` with a sqlite file's path made absolute.

    Args:
        uri: MLflow's tracking URI.
        given_by: Option or variable that it comes from, for messages.

    Raises:
        SweepError: MLflow's run tables cannot be at its scheme, or its password is missing. The
            message shows no secret.
    """
    scheme, where = scheme_of(uri), f"{given_by} {shown(uri)}"
    if HIDDEN in uri:
        raise SweepError(
            f"{where}: its password is not kept with the run",
            f"give {OPTION} again, or MLFLOW_TRACKING_URI",
        )
    if ("://" not in uri and uri != DATABRICKS) or scheme not in SCHEMES:
        name = f" {scheme!r}{nearest(scheme, SCHEMES)}" if scheme.isidentifier() else ""
        wrong = f"unknown scheme{name}" if "://" in uri else "is not a URI"
        raise SweepError(
            f"{where}: {wrong}",
            "allowed: sqlite:///FILE, http(s)://HOST:PORT, postgresql://..., mysql://..., "
            "mssql://..., databricks (a folder of files is too slow)",
        )
    return in_full(uri)


def scheme_of(uri: str) -> str:
    """Return a URI's scheme without its driver: ``mysql`` of ``mysql+pymysql://...``."""
    return uri.partition(":")[0].partition("+")[0]


def sqlite_path(uri: str) -> Path | None:
    """Return the absolute path of the file of a sqlite URI; None for others.

    Raises:
        SweepError: It begins with a user or a variable that does not exist.
    """
    if not uri.startswith(_SQLITE):
        return None
    return named_path(uri.removeprefix(_SQLITE).partition("?")[0], _SQLITE).absolute()


def in_full(uri: str) -> str:
    """Return a URI with the path of its sqlite file made absolute; others as they are.

    Raises:
        SweepError: As :func:`sqlite_path`.
    """
    path, (_, mark, query) = sqlite_path(uri), uri.partition("?")
    return uri if path is None else f"{_SQLITE}{path}{mark}{query}"


def default_uri(runs_folder: Path) -> str:
    """Return the URI of a sqlite file in the folder that contains the runs of all sweeps."""
    return f"{_SQLITE}{runs_folder.resolve()}/mlflow.db"


def artifact_root(uri: str, run_dir: Path) -> Path | None:
    """Return the folder for the artifacts, next to a database; None where a server keeps them."""
    if scheme_of(uri) not in DATABASES:
        return None
    file = sqlite_path(uri)
    return (run_dir.absolute().parent if file is None else file.parent) / "mlflow-artifacts"


def how_to_open(uri: str, experiment_id: str, run_id: str) -> list[str]:
    """Return what shows a run in MLflow's pages, a line each: a command, then the address."""
    scheme = scheme_of(uri)
    if scheme in SERVERS:
        return [_address(shown(uri).rstrip("/"), experiment_id, run_id)]
    if scheme not in DATABASES:
        return [f"experiment {experiment_id}, run {run_id} at {shown(uri)}"]
    path = None if "?" in uri else sqlite_path(uri)
    store = shown(uri) if path is None else f"{_SQLITE}{short(path)}"
    words = ["ui", "--workers", "1", "--backend-store-uri", store]
    # Without these its server is twelve processes.
    command = f"{_WITHOUT_JOBS} {typed('mlflow', words, program='mlflow')}"
    return [command, f"then {_address(_OWN_SERVER, experiment_id, run_id)}"]


def _address(server: str, experiment_id: str, run_id: str) -> str:
    # Without the parameter the page opens among MLflow's features for language models.
    return f"{server}/#/experiments/{experiment_id}/runs/{run_id}?{MODEL_TRAINING}"


# -- secrets


def shown(uri: str) -> str:
    """Return a URI with ``***`` for its password, its parameters, and the user of a server."""
    if not re.search("[@?#]", uri) or (uri.startswith(_SQLITE) and "?" not in uri):
        return uri
    scheme = scheme_of(uri)
    return re.sub("[?#].*", f"?{HIDDEN}", _USER.sub(_hidden, uri)) if scheme in SCHEMES else HIDDEN


def _hidden(match: re.Match[str]) -> str:
    user, colon, _ = match[1].partition(":")
    if match.string.startswith(SERVERS):  # the user may be a token
        return f"://{HIDDEN}@"
    return f"://{user}:{HIDDEN}@" if colon else match[0]


def shown_words(words: Sequence[str]) -> tuple[str, ...]:
    """Return a command line, its URIs without secrets."""
    return tuple(re.sub(r"[\w+]+://.*", lambda found: shown(found[0]), word) for word in words)


def without_secrets(text: str, uri: str) -> str:
    """Return ``text`` with ``***`` for the password of ``uri`` and those in MLflow's variables."""
    text = text.replace(uri, shown(uri))
    user = _USER.search(uri)
    password = user[1].rpartition(":")[2] if user and shown(uri) != uri else ""
    secrets = {password, unquote(password), *(os.environ.get(name, "") for name in _VARIABLES)}
    for secret in sorted(secrets - {""}, key=len, reverse=True):
        text = text.replace(secret, HIDDEN)
    return text


def reason_of(error: Exception, uri: str) -> str:
    """Return a line on what went wrong; for a request that reached no server, its cause."""
    text = without_secrets(str(error).strip(), uri) or type(error).__name__
    cause = _CAUSE.search(text)
    return bounded((cause[1] if cause else text).splitlines()[0], _MOST_SHOWN)
