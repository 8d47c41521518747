"""Options that cannot stand together."""

from __future__ import annotations

import pytest

from orchestrator.cli import parse
from orchestrator.driver.options import contradictions


@pytest.mark.parametrize(
    ("given", "pair"),
    [
        (["--out", "a", "--resume", "b"], "--out and --resume"),
        (["--tracking-uri", "sqlite:///a.db", "--no-mlflow"], "--tracking-uri and --no-mlflow"),
        (["--experiment", "a", "--no-mlflow"], "--experiment and --no-mlflow"),
        (["--address", "a:1", "--executor", "inline"], "--address and --executor inline"),
        (["--executor", "replay", "--table", "a", "--resume", "a"], "--table and --resume"),
    ],
)
def test_contradictions_are_named(given: list[str], pair: str) -> None:
    (problem,) = contradictions(parse(given).given())
    assert problem.message == f"{pair} contradict each other"
    assert list(contradictions(parse(["--address", "a:1", "--executor", "ray"]).given())) == []


@pytest.mark.parametrize("option", [["--download"], ["--data-root", "a"]])
def test_a_replay_reads_no_data(option: list[str]) -> None:
    given = parse(["--executor", "replay", "--table", "a", *option]).given()
    (problem,) = contradictions(given)
    assert problem.message == f"{option[0]}: a replay reads no data"
