"""Tracking URIs: what is refused, that no secret is shown, and what opens a run."""

import shlex
import sys
from pathlib import Path
from urllib.parse import quote

import pytest

from orchestrator.errors import SweepError
from orchestrator.tracking.mlflow.uris import (
    checked_uri,
    how_to_open,
    shown,
    shown_words,
    without_secrets,
)


@pytest.mark.parametrize(
    ("uri", "part"),
    [
        ("runs/mlflow.db", "--tracking-uri runs/mlflow.db: is not a URI"),
        ("sqllite:///x.db", "--tracking-uri sqllite:///x.db: unknown scheme 'sqllite'; did you"),
        ("file:///tmp/mlruns", "--tracking-uri file:///tmp/mlruns: unknown scheme 'file'"),
        ("s3c@ret://x/y", "--tracking-uri ***: unknown scheme"),
        ("http://***@host", "--tracking-uri http://***@host: its password is not kept"),
    ],
)
def test_a_wrong_uri_is_refused_with_what_is_allowed(uri: str, part: str) -> None:
    with pytest.raises(SweepError) as caught:
        checked_uri(uri)
    assert caught.value.message.startswith(part)
    assert "s3c" not in str(caught.value)
    assert caught.value.hint


@pytest.mark.parametrize(
    ("uri", "text"),
    [
        ("postgresql://me:s3cret@db/x", "postgresql://me:***@db/x"),
        ("postgresql:///x?user=me&password=s3cret", "postgresql:///x?***"),
        ("mysql+pymysql://me:s3cret@db/x?a;password=s3cret", "mysql+pymysql://me:***@db/x?***"),
        ("http://me:s3cret@host:5000/a", "http://***@host:5000/a"),
        ("https://s3cret@host", "https://***@host"),
        ("postgresql://me:s3@cret@db/x", "postgresql://me:***@db/x"),
        ("oracle://me:s3cret@db/x", "***"),
        ("sqlite:////data/me@corp/runs/m.db", ""),
        ("https://mlflow.corp/team/a", ""),
        ("postgresql://me@db/x", ""),
        ("databricks", ""),
    ],
)
def test_a_uri_is_shown_without_its_secret(uri: str, text: str) -> None:
    assert shown(uri) == (text or checked_uri(uri))


def test_a_command_line_is_kept_without_secrets() -> None:
    uri, hidden = "http://me:s3cret@host/?a=b", "http://***@host/?***"
    words = ("a.py", "--tracking-uri", uri, f"--track={uri}", "--data=x/y@z", "--out", "runs/a b")
    kept = ("a.py", "--tracking-uri", hidden, f"--track={hidden}", *words[4:])
    assert shown_words(words) == kept


@pytest.mark.parametrize("uri", ["postgresql://me:{}@db/x", "http://me:{}@host", "http://{}@host"])
def test_what_libraries_write_of_a_secret_is_hidden(
    uri: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MLFLOW_TRACKING_TOKEN", "t0ken")
    secret = "s3/cr t'é"
    uri = uri.format(quote(secret, safe=""))
    for text in (secret, quote(secret, safe=""), uri, "t0ken"):
        written = without_secrets(f"cannot connect with {text}: refused", uri)
        assert "cr" not in written
        assert "t0ken" not in written
        assert written.startswith("cannot connect with")
        assert written.endswith(": refused")


# -- places


def test_the_command_for_mlflow_can_be_typed_as_it_is_printed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "my python" / "python"))
    command, then = how_to_open(checked_uri("sqlite:///my runs/m.db"), "1", "2")
    program = ["MLFLOW_SERVER_ENABLE_JOB_EXECUTION=false", "my python/python", "-m", "mlflow"]
    words = [*program, "ui", "--workers", "1", "--backend-store-uri", "sqlite:///my runs/m.db"]
    assert shlex.split(command) == words
    assert then.startswith("then http://127.0.0.1:5000/#/experiments/1/runs/2?")


def test_the_address_opens_the_run_among_models_not_prompts() -> None:
    page = "#/experiments/1/runs/2?workflowType=machine_learning"
    assert how_to_open("http://host:5000/", "1", "2") == [f"http://host:5000/{page}"]
    assert how_to_open("http://me:secret@host", "1", "2") == [f"http://***@host/{page}"]
    assert how_to_open("databricks", "1", "2") == ["experiment 1, run 2 at databricks"]
