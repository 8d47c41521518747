"""Findings of a run, as data, and their form in ``recommended.json``."""

import math
from dataclasses import replace
from pathlib import Path

import pytest
from scipy import stats

from orchestrator.analysis.findings.caveats import Caveat
from orchestrator.analysis.findings.findings import command_of, findings
from orchestrator.analysis.findings.words import Change, changes_of, named
from tests.orchestrator.analysis.findings.runs import RUNS, confirmed, findings_of
from tests.orchestrator.analysis.made_runs import ACCURACY, MadeRun, config, content_of


def test_knobs_that_change_the_speed_come_before_those_that_change_learning_alone() -> None:
    found = changes_of(config(lr=0.01, batch_size=4000, fanouts=[10, 25]), MadeRun().tables)
    assert [(c.knob, c.value, c.baseline) for c in found] == [
        ("batch_size", "4000", "1000"), ("lr", "0.01", "0.003"),
    ]  # fmt: skip


def test_figures_come_from_the_confirm_runs_and_test_is_reported(made: MadeRun) -> None:
    content = content_of(made.tables)
    confirmed = made.trials[made.trials["stage"] == "confirm"]
    ours = confirmed[confirmed["params.num_workers"] == 3]
    assert content["measured_in"] == "confirm"
    assert content["figures"]["test_acc"] == pytest.approx(ours["metrics.test_acc"].mean())
    assert content["figures"]["samples_per_s"] == pytest.approx(
        stats.gmean(ours["metrics.samples_per_s"])
    )


def test_figures_of_config_and_baseline_are_of_the_same_hardware() -> None:
    run = MadeRun()
    for workers, speed in ((0, 1000.0), (3, 2000.0)):
        run.add_runs(config(num_workers=workers), [speed])
        run.add_runs(config(num_workers=workers), [50 * speed], stage="confirm", device="H200")
    found = findings(run.tables)
    assert found.figures["samples_per_s"] == pytest.approx(100_000)
    assert found.baseline_figures["samples_per_s"] == pytest.approx(50_000)
    assert Caveat.CONDITIONS in {one.code for one in found.checks}
    for row in run.rows:
        if row["stage"] == "confirm":
            row[ACCURACY] = math.nan
    assert findings(run.tables).baseline_figures["val_acc"] == pytest.approx(0.9)


def test_without_confirm_runs_figures_come_from_the_runs_that_selected() -> None:
    run = MadeRun()
    run.add_runs(config(), [1000.0])
    content = content_of(run.tables)
    assert content["measured_in"] == "train"
    assert content["figures"]["test_acc"] is None
    assert content["interval"] == "one run; between-run noise not known"


def test_the_command_sets_knobs_that_vary_or_are_not_the_default(made: MadeRun) -> None:
    changed = config(fanouts=(5, 10), persistent_workers=False, lr=0.0123456789)
    assert command_of(changed, made.record) == (
        "--set", "lr=0.0123456789", "--set", "batch_size=1000", "--set", "num_workers=0",
        "--set", "fanouts=5,10", "--set", "persistent_workers=false",
    )  # fmt: skip


def test_the_command_gives_the_options_that_change_what_is_measured(made: MadeRun) -> None:
    given = {"epochs": 5, "steps": 70, "seed": 0, "cores_per_trial": 1, "isolation": "shared"}
    others = {"trials": 4, "set": ["num_workers=3", "rigor.half_width=0.03"]}
    record = replace(made.record, options={**given, **others})
    assert command_of(config(), record)[-12:] == (
        "--set", "rigor.half_width=0.03", "--epochs", "5", "--steps", "70", "--seed", "0",
        "--cores-per-trial", "1", "--isolation", "shared",
    )  # fmt: skip


def test_figures_that_are_not_known_are_null() -> None:
    run = MadeRun()
    run.add(config(), state="infeasible", reason="needs 2 GPUs")
    content = content_of(run.tables)
    assert content["figures"]["samples_per_s"] is None
    names = ("config", "speedup", "noise_floor", "interference")
    assert {name: content[name] for name in names} == dict.fromkeys(names)
    assert "within 0.5 points of the best" in content["rule"]


def test_it_begins_with_the_answer_and_has_all_that_it_rests_on(made: MadeRun) -> None:
    content = content_of(made.tables)
    assert list(content)[:3] == ["schema_version", "status", "sentence"]
    assert (content["schema_version"], content["status"]) == (2, "confirmed")
    assert (content["verdict"], content["data"]) == ("unresolved", "products-synthetic")
    assert content["changed"] == {
        "batch_size": {"value": 4000, "baseline": 1000},
        "num_workers": {"value": 3, "baseline": 0},
        "lr": {"value": 0.01, "baseline": 0.003},
    }
    speedup = content["speedup"]
    assert (speedup["basis"], speedup["num_pairs"]) == ("confirm", 3)
    assert f"{speedup['ratio']:.2f} times as fast as the baseline (" in speedup["text"]
    ours, theirs = (which["figures"]["samples_per_s"] for which in (content, content["baseline"]))
    assert ours / theirs == pytest.approx(speedup["ratio"]), "one stage, one ratio"
    assert "fresh runs of one config differ" in content["noise_floor"]["text"]
    assert content["cost"]["search_s"] == pytest.approx(made.trials["wall_s"].sum())
    assert {"name", "health", "text"} == {key for check in content["checks"] for key in check}


def test_a_factor_that_is_not_known_is_in_no_figure_of_it() -> None:
    speedup = content_of(confirmed([500.0, 4000.0], [1000.0, 300.0]).tables)["speedup"]
    known = ("ratio", "low", "high")
    assert {name: speedup[name] for name in known} == dict.fromkeys(known)
    assert "more than a factor of 1.5" in speedup["why_not_known"]
    assert speedup["text"] == f"speed-up not known: {speedup['why_not_known']}"


# -- all sentences of an answer, on one page


PAGE = Path(__file__).with_name("answers.txt")
"""After a change of words this file, run as a module, writes it."""


def answer_to(name: str) -> str:
    """Return all the words on a run."""
    found = findings_of(name)
    parts = {
        found.status: [found.sentence],
        "why": [found.why],
        "how sure": [found.how_sure],
        "not known": [found.why_not_known],
        "busy": [found.busy],
        "check": [f"{check.health}: {check.code}: {check.text}" for check in found.checks],
    }
    lines = [f"{part}: {text}" for part, texts in parts.items() for text in texts if text]
    return "\n".join([f"== {name}", *lines])


@pytest.fixture(scope="module")
def page() -> dict[str, str]:
    sections = PAGE.read_text(encoding="utf-8").rstrip("\n").split("\n\n")
    return {section.partition("\n")[0].removeprefix("== "): section for section in sections}


@pytest.mark.parametrize("name", RUNS)
def test_the_words_on_a_run_are_on_the_page(name: str, page: dict[str, str]) -> None:
    assert answer_to(name) == page[name]


def test_every_code_is_met_by_a_run() -> None:
    met: set[object] = set()
    for name in RUNS:
        met |= {one.code for one in findings_of(name).checks}
    # Shown in test_caveats.py, and where it is computed: statistics/test_interference.py.
    assert {*Caveat} - met == {Caveat.ROLES, Caveat.INTERFERENCE}


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0, "the baseline"),
        (1, "batch_size 2"),
        (4, "batch_size 2 with num_workers 2, lr 2 and dropout 2"),
        (6, "batch_size 2 with num_workers 2, lr 2 and 3 more settings"),
    ],
)
def test_a_config_is_named_by_what_differs_four_at_most(number: int, text: str) -> None:
    names = ("batch_size", "num_workers", "lr", "dropout", "threads", "ranks")[:number]
    assert named([Change(knob=name, value="2", baseline="1") for name in names]) == text


if __name__ == "__main__":
    PAGE.write_text("\n\n".join(map(answer_to, RUNS)) + "\n", encoding="utf-8")
