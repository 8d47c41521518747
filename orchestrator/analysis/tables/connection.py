"""A connection to MLflow that is there within seconds, or one message that it is not."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from orchestrator.errors import RunDirectoryError, SweepError
from orchestrator.tracking.mlflow.uris import (
    checked_uri,
    reason_of,
    scheme_of,
    shown,
    sqlite_path,
)

if TYPE_CHECKING:
    from mlflow.tracking import MlflowClient

_PORTS: Final = {"postgresql": 5432, "mysql": 3306, "mssql": 1433}
_WAIT_S: Final = 5.0
_REQUEST_S: Final = "10"
"""Longest wait for an answer, where the user set nothing."""


def connected(tracking_uri: str) -> MlflowClient:
    """Return a client of a server or database that has answered.

    Raises:
        RunDirectoryError: It does not answer, is none of MLflow's, or lacks its driver.
    """
    uri = checked_uri(tracking_uri)
    path = sqlite_path(uri)
    if path is not None and not (path.is_file() and path.stat().st_size):  # MLflow would make one
        what = "is empty" if path.is_file() else "does not exist"
        raise RunDirectoryError(f"{path}: {what}", "give the URI that the run printed")
    os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")
    with asking(tracking_uri):
        _require_reachable(uri)
        from mlflow.tracking import MlflowClient

        client = MlflowClient(uri)
        client.search_experiments(max_results=1)
    return client


@contextmanager
def asking(tracking_uri: str) -> Iterator[None]:
    """Ask MLflow once for each thing, and turn all that goes wrong into one message.

    Raises:
        RunDirectoryError: It has not answered, or not as MLflow does.
    """
    timeout = os.environ.get("MLFLOW_HTTP_REQUEST_TIMEOUT", _REQUEST_S)
    try:
        # MLflow would try again for minutes.
        with environment(MLFLOW_HTTP_REQUEST_MAX_RETRIES="0", MLFLOW_HTTP_REQUEST_TIMEOUT=timeout):
            yield
    except SweepError:
        raise
    except Exception as error:  # noqa: BLE001 - whatever reading another server's answers raises
        why = reason_of(error, tracking_uri)
        raise RunDirectoryError(
            f"{shown(tracking_uri)}: MLflow cannot be read: {why}",
            "is it running, and the URI that the run printed?",
        ) from None


def _require_reachable(uri: str) -> None:
    """Check that a database server takes connections, since MLflow itself tries ten times.

    Raises:
        OSError: It takes none.
    """
    scheme = scheme_of(uri)
    url = urlsplit(uri)
    if scheme in _PORTS and url.hostname:
        address = url.hostname, url.port or _PORTS[scheme]
        socket.create_connection(address, timeout=_WAIT_S).close()


@contextmanager
def environment(**variables: str) -> Iterator[None]:
    """Set variables that MLflow reads, and leave the environment as it was."""
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
