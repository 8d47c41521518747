"""Values of ``--set``, and the options that they replaced."""

from __future__ import annotations

import pytest

from orchestrator.cli import parse
from orchestrator.driver.options.settings import contradictions


@pytest.mark.parametrize(
    ("given", "settings", "instead"),
    [
        (["--repeats", "3"], ["rigor.repeats=3"], "--set rigor.repeats=N"),
        (["--confirm=0"], ["rigor.confirm=0", "rigor.max_confirm=0"], "--set rigor.confirm=N"),
        (["--cores", "4"], [], "--set replay.cores=N"),
        (["--retries", "0", "--set", "lr=1"], ["lr=1", "rigor.retries=0"], "--set rigor.retries=N"),
    ],
)
def test_an_option_of_the_last_version_works_and_names_the_new_one(
    given: list[str], settings: list[str], instead: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert parse(["s.py", *given]).overrides().settings == settings
    assert f"NOTE: {given[0].partition('=')[0]} is now {instead}" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["--out", "a", "--resume", "b"], "--out and --resume contradict each other"),
        (["--no-mlflow", "--experiment", "a"], "--experiment and --no-mlflow contradict"),
        (["--address", "a:1", "--executor", "inline"], "--address and --executor inline"),
        (
            ["--executor", "replay", "--table", "a", "--data-root", "a"],
            "replay has that of its table",
        ),
        (["--executor", "replay"], "no table to replay"),
        (["--table", "a"], "--table is for replays"),
    ],
)
def test_options_that_contradict_each_other_are_named(given: list[str], message: str) -> None:
    (problem,) = contradictions(parse(given).given())
    assert message in problem.message


def test_settings_of_a_replay_are_read_apart_from_the_sweep_s() -> None:
    options = parse(["--set", "lr=1", "replay.cores=4", "replay.reuse_repeats=true", "rigor=quick"])
    assert options.replay == {"cores": 4, "reuse_repeats": True}
    assert options.overrides().settings == ["lr=1", "rigor=quick"]


@pytest.mark.parametrize("text", ["replay.cores=0", "replay.core=1", "replay.reuse_repeats=2", ""])
def test_a_setting_of_a_replay_is_checked_where_it_is_read(
    text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        parse(["--set", text])
    assert "argument --set" in capsys.readouterr().err
