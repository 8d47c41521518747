"""A connection to MLflow that is there within seconds, or one message that it is not."""

from __future__ import annotations

import os
import re
import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from orchestrator.errors import RunDirectoryError
from orchestrator.tracking.mlflow.places import beside_a_proxy
from orchestrator.tracking.mlflow.secrets import Redaction
from orchestrator.tracking.mlflow.uris import (
    checked_uri,
    database_url,
    scheme_of,
    shown,
    sqlite_path,
)

if TYPE_CHECKING:
    from mlflow.tracking import MlflowClient

_PORTS: Final = {"postgresql": 5432, "mysql": 3306, "mssql": 1433}
_WAIT_S: Final = 5.0

_FIRST_REQUEST: Final = {"MLFLOW_HTTP_REQUEST_MAX_RETRIES": "0"}
"""MLflow itself tries again for minutes."""
_FIRST_REQUEST_DEFAULTS: Final = {"MLFLOW_HTTP_REQUEST_TIMEOUT": "10"}
"""Where the user set nothing."""


def connected(tracking_uri: str) -> MlflowClient:
    """Return a client of a server or database that has answered.

    Raises:
        RunDirectoryError: It does not answer, is none of MLflow's, or lacks its driver.
    """
    uri, where = checked_uri(tracking_uri), shown(tracking_uri)
    redacted = Redaction(tracking_uri)
    path = sqlite_path(uri)
    if path is not None and not (path.is_file() and path.stat().st_size):  # MLflow would make one
        what = "is empty" if path.is_file() else "does not exist"
        raise RunDirectoryError(f"{path}: {what}", "give the URI that the run printed")
    _require_reachable(uri, where)
    os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")
    os.environ.update(beside_a_proxy(os.environ))
    from mlflow.exceptions import MlflowException
    from mlflow.tracking import MlflowClient
    from sqlalchemy.exc import SQLAlchemyError

    try:
        with environment(_FIRST_REQUEST, defaults=_FIRST_REQUEST_DEFAULTS):
            client = MlflowClient(uri)
            client.search_experiments(max_results=1)
    except MlflowException as error:
        raise _refusal(where, redacted(_cause_of(str(error)))) from None
    except SQLAlchemyError as error:
        raise _refusal(where, redacted(str(error).partition("\n")[0])) from None
    except ImportError as error:
        raise _refusal(where, f"{error.name} is not installed") from None
    return client


def _refusal(where: str, why: str) -> RunDirectoryError:
    return RunDirectoryError(
        f"{where}: MLflow cannot be read: {why}", "is it running, and the URI that the run printed?"
    )


def _require_reachable(uri: str, where: str) -> None:
    """Refuse a database server that takes no connection, before MLflow tries it ten times."""
    scheme = scheme_of(uri)
    url = database_url(uri) if scheme in _PORTS else None
    if url is None or not url.host:
        return
    try:
        address = url.host, url.port or _PORTS[scheme]
        socket.create_connection(address, timeout=_WAIT_S).close()
    except OSError as error:
        raise _refusal(where, error.strerror or str(error)) from None


@contextmanager
def environment(
    fixed: Mapping[str, str], *, defaults: Mapping[str, str] | None = None
) -> Iterator[None]:
    """Set variables that MLflow reads, and leave the environment as it was.

    Args:
        fixed: Set whatever the user set.
        defaults: Set where the user set nothing.
    """
    defaults = defaults or {}
    before = {name: os.environ.get(name) for name in (*fixed, *defaults)}
    os.environ.update({**defaults, **os.environ, **fixed})
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def _cause_of(message: str) -> str:
    """Return what went wrong, out of the message of an HTTP library that repeats the request."""
    told = re.search(r"Caused by \w+\(['\"].*?\): (.*)['\"]\)", message)
    return told[1] if told else message
