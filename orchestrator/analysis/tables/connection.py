"""A connection to MLflow that is there within seconds, or one message that it is not."""

from __future__ import annotations

import os
import re
import socket
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from threading import Thread
from typing import TYPE_CHECKING, Final

from orchestrator.errors import RunDirectoryError, SweepError
from orchestrator.texts import bounded
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

_REQUESTS: Final = {"MLFLOW_HTTP_REQUEST_MAX_RETRIES": "0"}
"""MLflow itself tries again for minutes."""
_REQUESTS_DEFAULTS: Final = {"MLFLOW_HTTP_REQUEST_TIMEOUT": "10"}
"""Where the user set nothing."""
_ANSWER_S: Final = 40.0
"""Longest wait for the first answer to be whole: a server that has just started takes 30 s."""
_SHOWN: Final = 300
"""Characters of a reason that are shown."""


def connected(tracking_uri: str) -> MlflowClient:
    """Return a client of a server or database that has answered.

    Raises:
        RunDirectoryError: It does not answer, is none of MLflow's, or lacks its driver.
    """
    uri, where = checked_uri(tracking_uri), shown(tracking_uri)
    path = sqlite_path(uri)
    if path is not None and not (path.is_file() and path.stat().st_size):  # MLflow would make one
        what = "is empty" if path.is_file() else "does not exist"
        raise RunDirectoryError(f"{path}: {what}", "give the URI that the run printed")
    _require_reachable(uri, where)
    os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")
    os.environ.update(beside_a_proxy(os.environ))
    with asking(tracking_uri):
        from mlflow.tracking import MlflowClient

        client = MlflowClient(uri)
        _in_time(lambda: client.search_experiments(max_results=1))
    return client


@contextmanager
def asking(tracking_uri: str) -> Iterator[None]:
    """Ask MLflow once for each thing, and turn all that goes wrong into one message.

    Raises:
        RunDirectoryError: It has not answered, or not as MLflow does.
    """
    where, redacted = shown(tracking_uri), Redaction(tracking_uri)
    try:
        with environment(_REQUESTS, defaults=_REQUESTS_DEFAULTS):
            yield
    except SweepError:
        raise
    except ImportError as error:
        raise _refusal(where, f"{error.name} is not installed") from None
    except Exception as error:  # noqa: BLE001 - whatever reading another server's answers raises
        why = _cause_of(str(error)).partition("\n")[0] or type(error).__name__
        raise _refusal(where, bounded(redacted(why), _SHOWN)) from None


def _in_time(request: Callable[[], object]) -> None:
    """Make a request; an answer may begin in time and never come to its end.

    Raises:
        Exception: What it raises.
    """
    failures: list[BaseException] = []

    def make() -> None:
        try:
            request()
        except BaseException as error:  # noqa: BLE001 - raised below
            failures.append(error)

    thread = Thread(target=make, daemon=True)
    thread.start()
    thread.join(_ANSWER_S)
    if thread.is_alive():
        raise TimeoutError(f"no whole answer within {_ANSWER_S:g} s")
    for failure in failures:
        raise failure


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
