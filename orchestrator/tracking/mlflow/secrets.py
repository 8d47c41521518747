"""Secrets of a tracking URI, taken out of whatever MLflow and its libraries write."""

from __future__ import annotations

import base64
import io
import json
import os
import re
from collections.abc import Iterable, Iterator
from typing import Final, TextIO
from urllib.parse import quote, quote_plus, unquote, unquote_plus

from orchestrator.tracking.mlflow.places import PROXIES
from orchestrator.tracking.mlflow.uris import (
    DATABASES,
    HIDDEN,
    SERVERS,
    database_url,
    is_harmless,
    parameters,
    scheme_of,
    server_address,
    shown,
)

_VARIABLES: Final = (
    "MLFLOW_TRACKING_PASSWORD", "MLFLOW_TRACKING_TOKEN", "DATABRICKS_TOKEN", "PGPASSWORD",
    "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AZURE_STORAGE_ACCESS_KEY",
)  # fmt: skip
"""Variables in which MLflow and its libraries take secrets that the URI has not."""
_RAW_PASSWORD = re.compile(r"[^:]*://[^:/]*:([^@]*)@")
_PARTS = re.compile(r"[^\w.~-]+")
_SHORT: Final = 4
"""A secret of fewer characters is hidden as a word of its own alone: it is part of many words."""


class Redaction:
    """Takes the secrets of a tracking URI out of a text."""

    def __init__(self, uri: str) -> None:
        """Know the secrets of ``uri`` and of MLflow's own variables."""
        self._uri, self._shown = uri, shown(uri)
        secrets = {spelled for secret in _secrets(uri) for spelled in _spellings(secret)}
        patterns = [re.escape(uri)] if uri != self._shown else []
        patterns += map(_pattern, sorted(secrets, key=len, reverse=True))
        self._pattern = re.compile("|".join(patterns)) if patterns else None

    def __call__(self, text: str) -> str:
        """Return ``text`` with ``***`` for each secret, in whatever way it is quoted."""
        if self._pattern is None:
            return text
        return self._pattern.sub(lambda m: self._shown if m[0] == self._uri else HIDDEN, text)


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

    def isatty(self) -> bool:
        """Return True for a terminal."""
        return self._stream.isatty()


def _secrets(uri: str) -> Iterator[str]:
    yield from (os.environ.get(name, "") for name in _VARIABLES)
    for name in (*PROXIES, *map(str.upper, PROXIES)):
        user = os.environ.get(name, "").rpartition("@")[0].rpartition("//")[2]
        yield user.partition(":")[2]
    scheme = scheme_of(uri)
    if scheme in SERVERS and (parts := server_address(uri)) is not None:
        yield from _of_user(parts.netloc.rpartition("@")[0])
        yield from (value for _, value in parameters(parts.query))
        yield parts.fragment
    elif scheme in DATABASES and (url := database_url(uri)) is not None:
        yield str(url.password or "")
        if raw := _RAW_PASSWORD.match(uri):
            yield raw[1]
        yield from _of_parameters(uri.partition("?")[2])
    elif uri != shown(uri):
        yield from re.split(r"[:/@?&=#;]+", uri)[1:]


def _of_user(user: str) -> Iterator[str]:
    name, _, password = user.partition(":")
    yield from (user, name, password, unquote(name), unquote(password))
    pair = f"{unquote(name)}:{unquote(password)}"
    yield base64.b64encode(pair.encode()).decode() if user else ""


def _of_parameters(query: str) -> Iterator[str]:
    """Yield values, and those in them: ``odbc_connect`` holds a list of its own."""
    for name, value in parameters(query):
        if not is_harmless(name, value):
            yield value
            yield from (part.partition("=")[2].strip("{}") for part in value.split(";"))


def _spellings(secret: str) -> Iterable[str]:
    """Return a secret as it may be written: as it is, and quoted in several ways."""
    plain = {secret, unquote(secret), unquote_plus(secret)}
    # A library may take a reserved character in it for its end.
    plain |= {part for text in plain for part in _PARTS.split(text) if len(part) >= _SHORT}
    quoted = {f(text) for text in plain for f in (quote, quote_plus, _quoted_all)}
    escaped = {text for one in plain for text in (repr(one)[1:-1], json.dumps(one)[1:-1])}
    return (plain | quoted | escaped) - {""}


def _quoted_all(text: str) -> str:
    return quote(text, safe="")


def _pattern(secret: str) -> str:
    escaped = re.escape(secret)
    return escaped if len(secret) >= _SHORT else rf"(?<!\w){escaped}(?!\w)"
