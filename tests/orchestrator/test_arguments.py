"""Readers of arguments: what they take, and what they refuse in a sentence."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from orchestrator.arguments import (
    Parser,
    a_path,
    cluster_address,
    one_of,
    some_text,
    whole_number,
)
from tests.conftest import ROOT


@pytest.mark.parametrize(
    ("read", "text", "value"),
    [
        (whole_number(1), "3", 3), (whole_number(0, 5), "5", 5), (a_path, "a/b", Path("a/b")),
        (a_path, "~", Path.home()), (one_of("a", "b"), "b", "b"), (some_text, "x", "x"),
        (cluster_address, "10.0.0.1:6379", "10.0.0.1:6379"),
        (cluster_address, "head-1.example:1", "head-1.example:1"),
        (cluster_address, "[fe80::1]:6379", "[fe80::1]:6379"),
    ],
)  # fmt: skip
def test_what_is_allowed_is_read(read: Callable[[str], Any], text: str, value: object) -> None:
    assert read(text) == value


@pytest.mark.parametrize(
    ("read", "text", "said"),
    [
        (whole_number(1), "0", "a whole number of at least 1"),
        (whole_number(1), "9" * 30, "and at most 2147483647"),
        (whole_number(0, 5), "6", "at least 0 and at most 5"),
        (a_path, "", "the path of a file or a folder"),
        (a_path, "file:///tmp", "the path of a file or a folder"),
        (a_path, "~nobody-of-this-name/x", "there is no such user"),
        (some_text, "", "leave the option out"),
        (one_of("grid"), "gird", "did you mean 'grid'?"),
        *((cluster_address, text, "HOST:PORT of the cluster's head")
          for text in ("auto", "head", ":6379", "head:0", "head:99999", "ray://head:10001")),
    ],
)  # fmt: skip
def test_what_is_not_is_refused(read: Callable[[str], Any], text: str, said: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError) as refused:
        read(text)
    assert said in str(refused.value)
    assert len(str(refused.value)) < 300


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("--resum x", "unrecognized arguments: --resum x; did you mean '--resume'?"),
        ("file --RE=x", "; did you mean '--resume'?"),
        ("-resume x", "did you mean '--resume'?"),
        ("--x", "unrecognized arguments: --x\n"),
    ],
)
def test_an_abbreviated_option_is_refused(
    capsys: pytest.CaptureFixture[str], words: str, said: str
) -> None:
    parser = Parser()
    for name in ("--resume", "--trials", "--plan"):
        parser.add_argument(name)
    with pytest.raises(SystemExit) as ended:
        parser.parse_args(words.split())
    assert (ended.value.code, said in capsys.readouterr().err) == (2, True)


def test_every_command_refuses_abbreviations() -> None:
    files = [
        file for name in ("orchestrator", "benchmarks") for file in (ROOT / name).rglob("*.py")
    ]
    plain = [file for file in files if "argparse.ArgumentParser(" in file.read_text()]
    assert {file.parent.name for file in plain} == {"peers"}, "which have nothing of ours"
