"""The readers of option values, and an option as it is typed."""

from __future__ import annotations

import argparse

import pytest

from orchestrator.driver.options.declaration import duration_s, flag, isolation
from orchestrator.trial import Isolation


@pytest.mark.parametrize(
    ("text", "seconds"), [("90", 90.0), ("90s", 90.0), ("1.5m", 90.0), ("2h", 7200.0)]
)
def test_a_duration_has_a_unit_or_is_seconds(text: str, seconds: float) -> None:
    assert duration_s(text) == seconds


@pytest.mark.parametrize("text", ["0", "0m", "soon", "-3s", "3 s", "1d", ""])
def test_other_durations_are_refused(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match="is not a duration such as 90s, 30m"):
        duration_s(text)


def test_an_isolation_is_read_by_its_name() -> None:
    assert [isolation(str(each)) for each in Isolation] == list(Isolation)
    with pytest.raises(argparse.ArgumentTypeError, match="did you mean 'leased'"):
        isolation("leasd")


def test_an_option_is_typed_with_hyphens() -> None:
    assert flag("max_concurrent") == "--max-concurrent"
