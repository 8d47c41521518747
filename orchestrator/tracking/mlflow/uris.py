"""Tracking URIs: which are allowed, how they are shown without secrets, what opens their pages."""

from __future__ import annotations

import base64
import io
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, TextIO
from urllib.parse import quote, quote_plus, unquote

from orchestrator.commands import short, typed
from orchestrator.errors import SweepError, nearest
from orchestrator.named_paths import named_path
from orchestrator.texts import bounded, bounded_name

if TYPE_CHECKING:
    from sqlalchemy.engine import URL

DATABASES: Final = ("sqlite", "postgresql", "mysql", "mssql")
SERVERS: Final = ("http", "https")
DATABRICKS: Final = "databricks"
SCHEMES: Final = (*DATABASES, *SERVERS, DATABRICKS)

OPTION: Final = "--tracking-uri"
HIDDEN: Final = "***"
MODEL_TRAINING: Final = "workflowType=machine_learning"
"""Parameter of an address with which MLflow's pages open on runs and metrics."""

_SQLITE: Final = "sqlite:///"
_OWN_SERVER: Final = "http://127.0.0.1:5000"
"""Default address of ``mlflow ui``."""
_MAY_HIDE: Final = re.compile("[@?#;]")
"""Characters without which a URI has neither a user nor parameters."""
_UNCLEAR: Final = re.compile(r"\?|%[0-9a-fA-F]{2}|[\x00-\x1f\x7f\ud800-\udfff]")
"""The start of a query, what MLflow takes for a quoted character, and what no URI has."""
_VARIABLES: Final = ("MLFLOW_TRACKING_PASSWORD", "MLFLOW_TRACKING_TOKEN", "PGPASSWORD")
_SECRET: Final = re.compile("pass|pwd|token|secret|key", re.IGNORECASE)
"""Names of parameters whose values are secrets."""
_CAUSE: Final = re.compile(r"\(Caused by (.*)\)")
_MOST_SHOWN: Final = 200
"""Characters of a reason that are shown."""
_THIS_MACHINE: Final = ("localhost", "127.0.0.1", "::1")
_PROXIES: Final = ("http_proxy", "https_proxy", "all_proxy")


def checked_uri(uri: str, given_by: str = OPTION) -> str:
    """Return ``uri`` with a sqlite file's path made absolute.

    Args:
        uri: MLflow's tracking URI.
        given_by: Option or variable that it comes from, for messages.

    Raises:
        SweepError: Its scheme is none that MLflow's run tables can be at, or its password is
            missing. The message shows no secret.
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
        SweepError: As of :func:`sqlite_path`.
    """
    path, (_, mark, query) = sqlite_path(uri), uri.partition("?")
    return uri if path is None else f"{_SQLITE}{path}{mark}{query}"


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
    """Return the folder for the artifacts, next to a database; None where a server keeps them."""
    if scheme_of(uri) not in DATABASES:
        return None
    file = sqlite_path(uri)
    return (run_dir.absolute().parent if file is None else file.parent) / "mlflow-artifacts"


def without_proxy(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the variable that keeps a proxy from requests to this machine.

    Libraries for HTTP ask a proxy for ``127.0.0.1`` too, which is the proxy's own machine there.
    """
    if not any(environment.get(name) or environment.get(name.upper()) for name in _PROXIES):
        return {}
    given = environment.get("no_proxy") or environment.get("NO_PROXY") or ""
    names = [name.strip() for name in given.split(",") if name.strip()]
    return {"no_proxy": ",".join(dict.fromkeys([*names, *_THIS_MACHINE]))}


# -- what opens a run


def how_to_open(uri: str, experiment_id: str, run_id: str) -> list[str]:
    """Return what shows a run in MLflow's pages, a line each: a command, then the address."""
    scheme = scheme_of(uri)
    if scheme in SERVERS:
        return [_address(shown(uri).rstrip("/"), experiment_id, run_id)]
    if scheme not in DATABASES:
        return [f"experiment {experiment_id}, run {run_id} at {shown(uri)}"]
    path = None if "?" in uri else sqlite_path(uri)
    store = shown(uri) if path is None else f"{_SQLITE}{short(path)}"
    command = typed("mlflow", ["ui", "--backend-store-uri", store], program="mlflow")
    return [command, f"then {_address(_OWN_SERVER, experiment_id, run_id)}"]


def _address(server: str, experiment_id: str, run_id: str) -> str:
    # Without the parameter the page opens among MLflow's features for language models.
    return f"{server}/#/experiments/{experiment_id}/runs/{run_id}?{MODEL_TRAINING}"


# -- secrets


def shown(uri: str) -> str:
    """Return a URI with ``***`` for its password, its parameters, and the user of a server.

    A URI that cannot be parsed clearly shows only its scheme: a part of a password with special
    characters may be in its host.
    """
    if not _MAY_HIDE.search(uri) or (uri.startswith(_SQLITE) and "?" not in uri):
        return uri
    scheme, url = scheme_of(uri), parsed(uri)
    if scheme not in SCHEMES:
        return HIDDEN
    if url is None or _MAY_HIDE.search(f"{url.host}{url.database}"):
        return f"{scheme}://{HIDDEN}"
    text = url.set(query={}).render_as_string(hide_password=True)
    if scheme in SERVERS:  # the user may be a token
        text = re.sub("//[^/@]*@", f"//{HIDDEN}@", text)
    return f"{text}?{HIDDEN}" if "?" in uri else text


def shown_words(words: Sequence[str]) -> tuple[str, ...]:
    """Return a command line whose URIs are without secrets."""
    return tuple(re.sub(r"[\w+]+://.*", lambda found: shown(found[0]), word) for word in words)


def parsed(uri: str) -> URL | None:
    """Return a URI as SQLAlchemy parses it, imported only where a secret may be in it, or None."""
    from sqlalchemy.engine import make_url
    from sqlalchemy.exc import ArgumentError

    try:
        return make_url(uri)
    except (ArgumentError, ValueError):  # a port that is no number
        return None


class Redaction:
    """Takes the secrets of a tracking URI out of a text."""

    def __init__(self, uri: str) -> None:
        """Find the secrets of ``uri``, and those in MLflow's own variables."""
        self._uri, self._shown = uri, shown(uri)
        found = {os.environ.get(name, "") for name in _VARIABLES} | set(_secrets(uri))
        spelled = {f(secret) for secret in found for f in (str, quote, quote_plus, _quoted)}
        self._secrets = sorted(spelled - {""}, key=len, reverse=True)

    def __call__(self, text: str) -> str:
        """Return ``text`` with ``***`` for each secret, quoted or not."""
        text = text.replace(self._uri, self._shown)
        for secret in self._secrets:
            text = text.replace(secret, HIDDEN)
        return text


def _secrets(uri: str) -> Iterator[str]:
    if shown(uri) == uri:
        return
    for name, value in re.findall(r"(\w+)=([^&;]*)", unquote(uri).partition("?")[2]):
        if _SECRET.search(name):
            yield value
    if (url := parsed(uri)) is not None:
        yield str(url.password or "")
        if scheme_of(uri) in SERVERS and url.username:
            yield url.username if not url.password else ""
            yield base64.b64encode(f"{url.username}:{url.password or ''}".encode()).decode()


def _quoted(text: str) -> str:
    return quote(text, safe="")


def reason_of(error: Exception, redacted: Redaction) -> str:
    """Return a line on what went wrong; for a request that reached no server, its cause."""
    text = redacted(str(error).strip()) or type(error).__name__
    cause = _CAUSE.search(text)
    return bounded((cause[1] if cause else text).splitlines()[0], _MOST_SHOWN)


class RedactedStream(io.TextIOBase):
    """A text stream that passes on what is written to it without secrets."""

    def __init__(self, stream: TextIO, redaction: Redaction) -> None:
        self._stream, self._redaction = stream, redaction

    def write(self, text: str) -> int:
        """Write ``text`` without secrets."""
        self._stream.write(self._redaction(text))
        return len(text)

    def flush(self) -> None:
        """Flush the stream itself."""
        self._stream.flush()

    def fileno(self) -> int:
        """Return the stream's own descriptor."""
        return self._stream.fileno()
