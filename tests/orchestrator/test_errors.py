"""Errors of a request: raised one by one or together."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.errors import (
    KnobError,
    Problems,
    SweepError,
    collecting_problems,
    nearest,
    raise_all,
    refuse,
    refusing_os_errors,
)
from orchestrator.formats import clock, counted, duration, number, percent
from orchestrator.texts import bounded, bounded_name, described


def test_a_near_name_is_suggested_and_a_far_one_is_not() -> None:
    assert nearest("wokers", ["lr", "workers"]) == "; did you mean 'workers'?"
    assert nearest("momentum", ["lr", "workers"]) == ""


def test_one_problem_is_raised_as_it_is_and_several_together() -> None:
    first, second = KnobError("first"), KnobError("second", "hint")
    raise_all([])
    with pytest.raises(KnobError, match="first"):
        raise_all([first])
    with pytest.raises(Problems) as raised:
        raise_all([first, second])
    assert raised.value.problems == (first, second)
    assert str(raised.value) == "first\nsecond\n  hint"


def test_problems_are_collected_within_the_block_alone() -> None:
    problem = KnobError("wrong")
    with collecting_problems() as problems:
        refuse([problem])
    assert problems == [problem]
    with pytest.raises(KnobError):
        refuse([problem])


def test_a_file_that_cannot_be_read_is_a_wrong_request_with_its_name(tmp_path: Path) -> None:
    message = r"absent\.csv: cannot be used: No such file"
    with pytest.raises(SweepError, match=message), refusing_os_errors():
        (tmp_path / "absent.csv").read_text()


# -- texts, made fit to be shown


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
    bounded(text).encode()  # raises if UTF-8 cannot encode it
    assert bounded(bounded(text)) == bounded(text)
    assert "\n" not in bounded_name(text)


# -- numbers as text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.354, "0.35 s"), (42.4, "42 s"), (277, "4 min 37 s"), (3600, "1 h"), (7530, "2 h 5 min")],
)
def test_a_duration_is_read_at_a_glance(seconds: float, text: str) -> None:
    assert duration(seconds) == text


def test_numbers_have_the_digits_that_are_read() -> None:
    assert [clock(s) for s in (-1, 42.4, 725, 3753)] == ["0:00", "0:42", "12:05", "1:02:33"]
    assert [number(v) for v in (0.123456, 12.34567, 24_176.4)] == ["0.1235", "12.35", "24,176"]
    assert [percent(0.914), percent(0.914, digits=1)] == ["91 %", "91.4 %"]
    assert [counted(n, "trial") for n in (0, 1, 1200)] == ["0 trials", "1 trial", "1,200 trials"]
