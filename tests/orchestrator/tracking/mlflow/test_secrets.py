"""Secrets of tracking URIs in what libraries write, in whatever way they quote them."""

from __future__ import annotations

import base64
import io
import json
from urllib.parse import quote

import pytest

from orchestrator.tracking.mlflow.secrets import RedactedStream, Redaction

SECRET = "s3/cr&t'é"


@pytest.mark.parametrize(
    "uri",
    [
        f"postgresql://me:{quote(SECRET, safe='')}@db/x",
        f"postgresql://me:{SECRET}@db/x",
        f"postgresql://db/x?password={quote(SECRET, safe='')}",
        f"mssql+pyodbc://?odbc_connect={quote('UID=me;PWD={' + SECRET + '}', safe='')}",
        f"http://me:{quote(SECRET, safe='')}@host",
        f"http://{quote(SECRET, safe='')}@host",
        f"http://host/?token={quote(SECRET, safe='')}",
    ],
)
def test_a_secret_is_hidden_however_it_is_quoted(uri: str) -> None:
    spelled = (SECRET, quote(SECRET), quote(SECRET, safe=""), repr(SECRET), json.dumps(SECRET), uri)
    for text in spelled:
        told = Redaction(uri)(f"cannot connect with {text}: refused")
        assert "cr" not in told, told
        assert told.startswith("cannot connect with")
        assert told.endswith(": refused")


def test_the_header_of_basic_authentication_is_hidden() -> None:
    header = base64.b64encode(b"me:s3cret").decode()
    assert Redaction("http://me:s3cret@host")(f"Basic {header}") == "Basic ***"


def test_a_short_password_does_not_garble_other_words() -> None:
    told = Redaction("postgresql://me:ab@db/x")("about ab, 'ab' and cab")
    assert told == "about ***, '***' and cab"


def test_secrets_of_mlflows_own_variables_are_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLFLOW_TRACKING_TOKEN", "s3cret")
    assert Redaction("http://host")("token s3cret") == "token ***"
    monkeypatch.delenv("MLFLOW_TRACKING_TOKEN")
    monkeypatch.setenv("HTTPS_PROXY", "http://root:pr0xy@proxy:3128")
    assert Redaction("http://host")("of root:pr0xy@proxy") == "of root:***@proxy"


def test_a_text_without_secrets_stays_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("MLFLOW_TRACKING_TOKEN", "MLFLOW_TRACKING_PASSWORD"):
        monkeypatch.delenv(name, raising=False)
    text = "sqlite:////x/m.db: locked"
    assert Redaction("sqlite:////x/m.db")(text) == text


def test_a_stream_passes_on_what_is_written_without_secrets() -> None:
    kept = io.StringIO()
    stream = RedactedStream(kept, Redaction("http://me:s3cret@host"))
    print("GET http://me:s3cret@host failed", file=stream, flush=True)
    assert kept.getvalue() == "GET http://***@host failed\n"
