from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.texts import (
    bounded,
    bounded_name,
    described,
)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("ValueError: no\n\tline 2", "ValueError: no\n\tline 2"),
        ("Größe 🙂 nicht\xa0da", "Größe 🙂 nicht\xa0da"),
        ("\udcff\ud800", "\\udcff\\ud800"),
        ("\x1b[31mred\x00\r", "\\x1b[31mred\\x00\\r"),
    ],
)
def test_only_what_cannot_be_shown_is_escaped(text: str, shown: str) -> None:
    assert bounded(text) == shown


def test_a_long_text_keeps_its_beginning_and_its_end() -> None:
    text = bounded("what " + "x" * 10_000_000 + " why")
    assert text.startswith("what x")
    assert text.endswith("x why")
    assert "9,980,009 characters left out" in text
    assert len(text) < 21_000


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (ValueError("wrong"), "ValueError: wrong"),
        (MemoryError(), "MemoryError"),
        (KeyError("\ud800"), "KeyError: '\\ud800'"),
    ],
)
def test_an_error_is_described(error: BaseException, text: str) -> None:
    assert described(error) == text


SURROGATES = st.text(st.sampled_from([chr(0xD800), chr(0xDFFF), "x"]))


@given(st.text(max_size=300) | SURROGATES)
def test_whatever_comes_can_be_written(text: str) -> None:
    bounded(text).encode()  # raises where UTF-8 cannot hold it
    assert bounded(bounded(text)) == bounded(text)
    assert "\n" not in bounded_name(text)
