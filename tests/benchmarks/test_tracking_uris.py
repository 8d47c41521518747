"""Forms of tracking URIs with a secret: none is shown, whatever becomes of the URI."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from benchmarks.reliability.tracking_uris.__main__ import Case
from benchmarks.reliability.tracking_uris.forms import FORMS, SECRET
from orchestrator.errors import SweepError
from orchestrator.tracking.mlflow.secrets import Redaction
from orchestrator.tracking.mlflow.uris import checked_uri, shown, shown_words


@pytest.mark.parametrize(("name", "uri"), FORMS)
def test_a_form_shows_no_secret(name: str, uri: str) -> None:
    assert SECRET in uri, name
    texts = [shown(uri), *shown_words(["--tracking-uri", uri, f"--tracking-uri={uri}"])]
    texts.append(Redaction(uri)(f"cannot connect to {uri!r} with {SECRET!r}"))
    try:
        checked_uri(uri)
    except SweepError as error:
        texts.append(str(error))
    assert not [text for text in texts if SECRET in text]


def test_there_are_twenty_forms_and_more_each_of_its_own_kind() -> None:
    assert len(FORMS) == len(dict(FORMS)) == len({uri for _, uri in FORMS}) >= 20


def test_a_secret_is_seen_where_it_is(tmp_path: Path) -> None:
    case = Case(name="x", uri=f"http://{SECRET}@host", folder=tmp_path)
    (tmp_path / "log").write_text(f"about {SECRET}")
    case.look_below("run directory", tmp_path)
    case.look("console", "nothing", "here")
    assert case.seen == Counter({"run directory": 1})
    assert case.remarks == [f"x: run directory: {tmp_path}/log"]
    assert case.row == "| x | `http://***@host` |  | 0 | 1 | 0 | 0 | 0 | 0 |"
