"""Tracking URIs: what is refused, and that nothing secret of one is shown."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from orchestrator.errors import SweepError
from orchestrator.tracking.mlflow.uris import checked_uri, require_database, shown, shown_words


@pytest.mark.parametrize(
    ("uri", "part"),
    [
        ("runs/mlflow.db", "--tracking-uri runs/mlflow.db: is not a URI"),
        (
            "sqllite:///x.db",
            "--tracking-uri sqllite:///x.db: unknown scheme 'sqllite'; did you mean",
        ),
        ("file:///tmp/mlruns", "--tracking-uri file:///tmp/mlruns: unknown scheme 'file'"),
        ("postgresql://me:s3cret@db:x/y", "--tracking-uri postgresql://***: cannot be read"),
        ("s3cret", "--tracking-uri ***: is not a URI"),
        ("s3c@ret://x/y", "--tracking-uri ***: unknown scheme"),
    ],
)
def test_a_wrong_uri_is_refused_with_what_is_allowed(uri: str, part: str) -> None:
    with pytest.raises(SweepError) as caught:
        checked_uri(uri)
    assert caught.value.message.startswith(part)
    assert "s3c" not in str(caught.value)
    assert caught.value.hint


@pytest.mark.parametrize(
    "uri",
    [
        "sqlite:////data/me@corp/runs/m.db",
        "sqlite:////data/me/runs/m.db?timeout=60",
        "http://127.0.0.1:5000",
        "https://mlflow.corp/team/a",
        "http://[::1]:5000",
        "postgresql://me@db/x?sslmode=require&host=/run/postgresql",
        "databricks",
        "databricks://profile",
    ],
)
def test_a_uri_without_a_secret_is_shown_as_it_is(uri: str) -> None:
    assert shown(uri) == checked_uri(uri) == uri


@pytest.mark.parametrize(
    ("uri", "text"),
    [
        ("postgresql://me:s3cret@db/x", "postgresql://me:***@db/x"),
        ("postgresql+psycopg2://me:s3%2Fcret@[::1]:5/x", "postgresql+psycopg2://me:***@[::1]:5/x"),
        ("postgresql://me:s3/cret?x@db/x", "postgresql://me:***@db/x"),
        ("postgresql:///x?user=me&password=s3cret", "postgresql:///x?user=me&password=***"),
        ("postgresql://db/x?s3cret", "postgresql://db/x"),
        ("postgresql://db/x?sslpassword=s3cret&sslmode=on", "postgresql://db/x?sslpassword=***&sslmode=on"),
        ("mysql+pymysql://me:s3cret@db/x?ssl_ca=/a;password=s3cret", "mysql+pymysql://me:***@db/x?ssl_ca=***"),
        ("mssql+pyodbc://?odbc_connect=UID%3Dme%3BPWD%3Ds3cret", "mssql+pyodbc://?odbc_connect=***"),
        ("sqlite+pysqlcipher://:s3cret@//x.db", "sqlite+pysqlcipher://:***@//x.db"),
        ("http://me:s3cret@host:5000/a", "http://***@host:5000/a"),
        ("https://s3cret@host", "https://***@host"),
        ("https://s3cret:@host/?token=s3cret#s3cret", "https://***@host/?***#***"),
        ("http://me:s3/cret@host", "http://***"),
        ("http://me:s3cret@host:s3cret", "http://***"),
        ("http://me:s3cret@[::1:5", "http://***"),
        ("http://me:s3\ncret@host", "http://***"),
        ("postgresql://me:s3@cret@db/x", "postgresql://***"),
        ("postgresql://m/e:s3cret@db/x", "postgresql://***"),
        ("postgresql://db/x#s3cret", "postgresql://***"),
        ("databricks://token:s3cret", "databricks://token:***"),
        ("oracle://me:s3cret@db/x", "***"),
        ("me:s3cret@db/x", "***"),
    ],
)  # fmt: skip
def test_a_secret_is_not_shown(uri: str, text: str) -> None:
    assert shown(uri) == text


@pytest.mark.parametrize("option", ["--tracking-uri", "--track"])
def test_a_command_line_is_kept_without_secrets(option: str) -> None:
    uri, hidden = "http://me:s3cret@host/?a=b", "http://***@host/?***"
    words = ("a.py", option, uri, f"{option}={uri}", "--set", f"x={uri}", uri, option, "s3cret")
    assert shown_words(words) == (
        "a.py", option, hidden, f"{option}={hidden}", "--set", f"x={hidden}", hidden, option, "***",
    )  # fmt: skip
    plain = ("a.py", "--trials", "4", "--data=x/y@z", "--out", "runs/a b")
    assert shown_words(plain) == plain


def test_a_database_that_is_a_link_to_itself_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.db").symlink_to("x.db")
    with pytest.raises(SweepError, match="is a link to itself"):
        checked_uri(f"sqlite:///{tmp_path / 'x.db'}")
    (tmp_path / "link.db").symlink_to("new.db")
    assert checked_uri(f"sqlite:///{tmp_path / 'link.db'}")


@pytest.mark.parametrize(
    ("uri", "said"),
    [
        ("sqlite:///{}", "cannot be used: it is a folder, not a file"),
        ("sqlite:///{}/pipe", "cannot be used: it is a pipe, not a file"),
        ("sqlite:///{}/text", "is no SQLite database"),
        ("sqlite:///{}/text/below", "cannot be used: Not a directory"),
        ("sqlite://host/x", "names no file"),
        ("sqlite:///{}/new", ""),
        ("sqlite:///{}/empty", ""),
        ("http://localhost", ""),
    ],
)
def test_what_is_no_database_is_refused(tmp_path: Path, uri: str, said: str) -> None:
    (tmp_path / "text").write_text("by hand\n")
    (tmp_path / "empty").touch()
    os.mkfifo(tmp_path / "pipe")
    given = uri.format(tmp_path)
    if not said:
        require_database(given)
        return
    with pytest.raises(SweepError, match=f"--tracking-uri {given}: {said}"):
        require_database(given)
