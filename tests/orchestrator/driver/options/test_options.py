"""One declaration of an option is the parser's entry, the override and the documented row."""

import argparse
import re
from dataclasses import fields
from pathlib import Path

import pytest

from orchestrator.cli import parse
from orchestrator.driver.options.declaration import (
    EXECUTORS,
    contradictions,
    duration_s,
    flag,
    replay_settings,
)
from orchestrator.driver.options.options import DECLARATIONS, Options
from orchestrator.search import SEARCHES, Random
from orchestrator.trial import Isolation
from tests.conftest import ROOT
from tests.orchestrator.driver.plans import sweep


def test_every_field_but_the_sweep_file_is_declared() -> None:
    names = [entry.name for entry in fields(Options)]
    assert names == ["sweep_file", *DECLARATIONS]
    assert len(DECLARATIONS) <= 26


def test_the_page_has_a_row_for_each_option_as_it_is_declared() -> None:
    page = (ROOT / "docs" / "command-line.md").read_text().partition("## Training with")[0]
    rows = re.findall(r"^\| `(--.*?)` \| (.*) \|$", page, flags=re.MULTILINE)
    assert len(rows) == len(DECLARATIONS)
    for (typed, text), (name, option) in zip(rows, DECLARATIONS.items(), strict=True):
        words = [flag(name), option.metavar, "..." * option.is_list]
        assert typed == " ".join(filter(None, words))
        assert text.startswith(option.help)


def test_an_option_that_is_not_given_is_absent_from_those_given() -> None:
    assert Options().given() == {}
    options = parse(["s.py", "--seed", "0", "--set", "a=1", "b=2", "--isolation", "shared"])
    assert options.given() == {
        "sweep_file": Path("s.py"),
        "seed": 0,
        "set": ("a=1", "b=2"),
        "isolation": Isolation.SHARED,
    }


def test_options_override_the_fields_that_they_name() -> None:
    given = ["--seed", "3", "--isolation", "exclusive", "--search", "random", "--trials", "4"]
    asked = sweep()
    changed = parse([*given, "--max-concurrent", "1", "--set", "prices.cpu_hour=2"]).applied_to(
        asked
    )
    assert (changed.seed, changed.isolation) == (3, Isolation.EXCLUSIVE)
    assert changed.search == Random(4)
    assert changed.prices == {"cpu_hour": 2.0}
    assert parse(["--no-mlflow"]).applied_to(asked) == asked


def test_the_help_names_every_search_and_executor() -> None:
    assert all(name in DECLARATIONS["search"].help for name in SEARCHES)
    assert all(f"{name}: " in DECLARATIONS["executor"].help for name in EXECUTORS)


def test_settings_may_be_repeated_and_the_file_may_come_last() -> None:
    options = parse(["--set", "a=1", "--set", "b=2", "s.py"])
    assert (options.set, options.sweep_file) == (("a=1", "b=2"), Path("s.py"))


@pytest.mark.parametrize(
    "given",
    ["--max-concurrent=0", "--isolation=lonely", "--executor=r", "--core-hours=0",
     "--core-hours=many", "--time-budget=1d"],
)  # fmt: skip
def test_value_that_no_option_has_is_named(given: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        parse(["s.py", given])
    assert ended.value.code == 2
    assert capsys.readouterr().err.startswith(f"error: argument {given.partition('=')[0]}: ")


# -- resumed


def test_a_stored_option_is_restored_with_its_type() -> None:
    given = ("--data-root", "d", "--set", "a=1", "--isolation", "shared", "--trials", "3")
    options = parse(given)
    assert Options().resuming(options.stored()) == options


def test_an_option_that_is_not_stored_applies_to_one_process() -> None:
    options = parse(["--out", "o", "--download", "--plan", "--on-end", "code"])
    assert Options().resuming(options.stored()) == Options()


@pytest.mark.parametrize(
    ("stored", "given", "expected"),
    [
        ({"seed": 7, "max_concurrent": 4}, "--seed=0", {"seed": 0, "max_concurrent": 4}),
        ({"set": ["lr=1", "rigor.retries=2"]}, "--set=rigor.retries=0",
         {"set": ("lr=1", "rigor.retries=0")}),
        ({"address": "head:6379"}, "--executor=inline", {"address": None}),
        ({"executor": "inline"}, "--address=head:6379", {"executor": None}),
        ({"no_mlflow": True}, "--tracking-uri=sqlite:///a.db", {"no_mlflow": False}),
        ({"tracking_uri": "sqlite:///a.db"}, "--no-mlflow", {"tracking_uri": None}),
    ],
)  # fmt: skip
def test_an_option_given_again_replaces_the_stored_one_and_what_contradicts_it(
    stored: dict[str, object], given: str, expected: dict[str, object]
) -> None:
    options = parse([given]).resuming(stored)
    assert {name: getattr(options, name) for name in expected} == expected


# -- readers and settings

REPLAYED = ("--executor", "replay", "--set", "replay.table=a")


@pytest.mark.parametrize(
    ("text", "seconds"), [("90", 90.0), ("90s", 90.0), ("1.5m", 90.0), ("2h", 7200.0)]
)
def test_a_duration_has_a_unit_or_is_seconds(text: str, seconds: float) -> None:
    assert duration_s(text) == seconds


@pytest.mark.parametrize("text", ["0", "soon", "-3s", "3 s", "1d", ""])
def test_other_durations_are_refused(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match="is not a duration such as 90s, 30m"):
        duration_s(text)


@pytest.mark.parametrize(
    ("given", "settings", "instead"),
    [
        (["--repeats", "3"], ["rigor.repeats=3"], "--set rigor.repeats=3"),
        (["--confirm=0"], ["rigor.confirm=0", "rigor.max_confirm=0"], "--set rigor.confirm=0"),
        (["--cores", "4"], ["replay.cores=4"], "--set replay.cores=4"),
        (["--table", "runs/a"], ["replay.table=runs/a"], "--set replay.table=runs/a"),
        (
            ["--cost", "cpu_hour=1,gpu_hour=2"],
            ["prices.cpu_hour=1", "prices.gpu_hour=2"],
            "--set prices.cpu_hour=1 prices.gpu_hour=2",
        ),
        (["--retries", "0", "--set", "lr=1"], ["lr=1", "rigor.retries=0"], "--set rigor.retries=0"),
    ],
)
def test_an_option_of_the_last_version_works_and_names_the_new_one(
    given: list[str], settings: list[str], instead: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert list(parse(["s.py", *given]).set) == settings
    assert f"NOTE: {given[0].partition('=')[0]} is now {instead}" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["--out", "a", "--resume", "b"], "--out and --resume contradict each other"),
        (["--no-mlflow", "--experiment", "a"], "--experiment and --no-mlflow contradict"),
        (["--address", "a:1", "--executor", "inline"], "--address and --executor inline"),
        (["--data-root", "a", *REPLAYED], "replay has that of its table"),
        (["--resume", "a", *REPLAYED], "--executor replay and --resume contradict"),
        (["--executor", "replay"], "no table to replay"),
        (["--set", "replay.table=a"], "--set replay.table=a is for replays"),
    ],
)
def test_options_that_contradict_each_other_are_named(given: list[str], message: str) -> None:
    (problem,) = contradictions(parse(given).given())
    assert message in problem.message


def test_settings_of_a_replay_are_read_separately_from_the_sweep_s() -> None:
    given = ["lr=1", "replay.cores=4", "replay.reuse_repeats=true", "replay.table=a", "rigor=quick"]
    settings = parse(["--set", *given]).set
    assert replay_settings(settings) == {"cores": 4, "reuse_repeats": True, "table": Path("a")}


@pytest.mark.parametrize("text", ["replay.cores=0", "replay.core=1", "replay.reuse_repeats=2", ""])
def test_a_setting_of_a_replay_is_checked_where_it_is_read(
    text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        parse(["--set", text])
    assert "argument --set" in capsys.readouterr().err
