"""Budgets, extensions and the plan of a resumed run, from the command line to the files."""

import json
import re
from collections import Counter
from pathlib import Path

import pytest

from orchestrator.trial import Budget
from tests.conftest import ROOT
from tests.orchestrator.driver.plans import earlier_run
from tests.orchestrator.driver.speed_sweeps import journal_text, trials_of, write_sweep
from tests.orchestrator.helpers.in_process import run_main

COMMON = ("--executor", "inline", "--no-mlflow", "--isolation", "shared")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    return tmp_path


def states(run_dir: Path) -> Counter[str]:
    return Counter(trials_of(run_dir)["state"])


@pytest.fixture
def begun(folder: Path) -> Path:
    """Return a run of four configs which a budget cut after a first one or two of them."""
    file = write_sweep(folder, epochs=5)
    out = folder / "run"
    tiny = ("--core-hours", f"{0.3 / 3600:.3g}")
    finished = run_main(file, "--out", out, *COMMON, *tiny)
    assert re.search(r"core-hours ended the search: [23] configs not tried", finished.stdout)
    return out


def test_a_budget_cuts_the_search_with_a_note_and_a_larger_one_resumes(begun: Path) -> None:
    cut = states(begun)
    assert cut["not_run"] >= 2
    assert cut.total() == 4
    assert json.loads((begun / "sweep.json").read_text())["cuts"]

    again = run_main("--resume", begun)
    assert "core-hours ended the search: " in again.stdout, "the same once more"
    assert states(begun) == cut

    refused = run_main("--resume", begun, "--trials", "9", code=2)
    assert "there is nothing to extend it to" in refused.stderr, "a grid has all configs"

    planned = run_main("--resume", begun, "--core-hours", "1000", "--plan").stdout
    assert re.search(r"\ndone +[12] trials?: ", planned)
    assert re.search(r"\nspent +.* core-hours", planned)

    finished = run_main("--resume", begun, "--core-hours", "1000")
    assert states(begun) == {"completed": 4}
    assert "ended the search" not in finished.stdout
    assert json.loads((begun / "sweep.json").read_text())["cuts"] == []


def test_a_search_with_another_budget_is_extended(folder: Path) -> None:
    file, out = write_sweep(folder, search="Random(2)", confirm=1), folder / "run"
    options = ("--epochs", "1", "--steps", "7", "--set", "rigor.confirm=0")
    run_main(file, "--out", out, *COMMON, *options)
    record = json.loads((out / "sweep.json").read_text())
    assert (record["budget"]["epochs"], record["budget"]["steps"], record["confirm"]) == (1, 7, 0)
    first = trials_of(out)
    assert list(first["stage"]) == ["train"] * 2

    for arguments, message in (
        (("--trials", "1"), "the run was asked for 2 configs\n  allowed: 2 or more"),
        (("--trials", "4", "--seed", "5"), "seed: 0 then, 5 now"),
    ):
        refused = run_main("--resume", out, *arguments, code=2)
        assert refused.stdout == ""
        assert message in refused.stderr

    planned = run_main("--resume", out, "--trials", "4", "--plan").stdout
    assert "4 trials: 4 configs" in planned

    run_main("--resume", out, "--trials", "4")
    second = trials_of(out)
    assert len(second[second["stage"] == "train"]) == 4
    assert set(first["trial_id"]) < set(second["trial_id"])
    assert json.loads((out / "sweep.json").read_text())["search"] == "Random(trials=4)"

    before = journal_text(out).count('"finished"')
    run_main("--resume", out)
    assert journal_text(out).count('"finished"') == before, "all of it is replayed"


@pytest.mark.parametrize("plan", [(), ("--plan",)])
def test_a_budget_below_the_least_of_the_plan_is_refused(folder: Path, plan: tuple[str]) -> None:
    file = write_sweep(folder, confirm=2)
    fixed = {"num_workers": 0, "act": "train", "allocator": "tuned", "ranks": 1, "gpus": 0}
    earlier_run(
        folder / "runs" / "speed" / "a", [4.0, 2.0], budget=Budget(epochs=2), cores_per_trial=1,
        data="", fixed={**fixed, "holds_mib": 0},
    )  # fmt: skip
    refused = run_main(file, "--out", "run", *COMMON, "--core-hours", "0.005", *plan, code=2)
    assert refused.stdout == ""
    assert refused.stderr == (
        "error: the budget of 0.005 core-hours is below the least of this plan: "
        "21 s, 0.0058 core-hours for two configs and the confirm stage up to its first analysis, "
        "7 trials\n"
        "  allowed: more than that or --set rigor.confirm=0; --plan shows the plan\n"
    )
    planned = run_main(file, *COMMON, "--core-hours", "0.006", "--plan").stdout
    assert "budget      the budget of 0.006 core-hours: no trial starts that it has no" in planned
    assert "ends the search before its last config: the plan takes more" in planned
