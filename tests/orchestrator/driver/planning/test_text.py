"""``--plan`` as a user reads it, what it refuses, and that nothing is started."""

import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
import pytest

from orchestrator.driver.budgets import Amount, Budgets
from orchestrator.driver.options.options import Options
from orchestrator.driver.planning.text import lines_of_the_past, plan_lines
from orchestrator.driver.record import question_record
from orchestrator.driver.request import read_request
from orchestrator.driver.resumption import Past
from orchestrator.execution.placement import cores_of_trial
from orchestrator.kernel.events import Event
from orchestrator.search import Asha, Grid, Random
from orchestrator.space.domains import choice, loguniform
from orchestrator.storage.sweep_record import SweepRecord, hash_of
from orchestrator.trial import Budget
from tests.orchestrator.driver.never import SWEEP
from tests.orchestrator.driver.plans import WIDE, Config, Staged, earlier_run, plan
from tests.orchestrator.helpers.in_process import run_main
from tests.orchestrator.helpers.journalled import event_of
from tests.orchestrator.helpers.sweep_files import GOOD, written
from tests.orchestrator.replay.made_runs import made_trial
from tests.orchestrator.tracking.journals import Scribe
from tests.zygote import STARTED


def test_the_plan_has_all_of_it() -> None:
    assert plan_lines(plan(**WIDE)) == [
        "sweep       How many?",
        "            tiny, 3 epochs a trial, at most 1,000 steps",
        "varied      workers: choice(0, 2, 4) [systems]",
        "            prefetch: choice(2, 4) batches [systems]",
        "            ranks: choice(1, 2, 4) [both]",
        "            amp: choice('off', 'fp16') [both]",
        # 36 combinations; 6 of the 12 without workers are merged; 4 of 4 workers x 4 ranks left out
        "train       10 trials: 26 configs, 2 runs each",
        "            merged as the same: 6 of 36 combinations",
        "            excluded by the sweep's constraints: 4 configs",
        "            cannot run here: 21 configs, one row each, not run",
        "                 10  needs 2 GPUs, the largest node has 0 "
        "(as workers=0 prefetch=2 ranks=2 amp=off)",
        "                  6  needs 4 GPUs, the largest node has 0 "
        "(as workers=0 prefetch=2 ranks=4 amp=off)",
        "                  5  fp16 needs a GPU (as workers=0 prefetch=2 ranks=1 amp=fp16)",
        "repeats     0 to 4 trials: the best config and up to 3 that the measurements do not "
        "separate from it, until each has 3 runs",
        "confirm     6 to 27 trials, isolated: the selected config and the baseline, up to 1 "
        "contender, 3 to 9 runs each, interleaved on the same cores where possible",
        "            1 trial, isolated: what is recommended, once, with the test split",
        "cores       4 a trial; 1 node of 4 cores, no GPU",
        "            1 at once, leased",
        "time        unknown until the first trial has run: no earlier run of this sweep on "
        "this data with this budget, these fixed knobs and cores",
        "in all      17 to 42 trials; how long they take is not known yet: no earlier trials "
        "like these",
    ]


@pytest.mark.parametrize(
    ("changes", "lines"),
    [
        (
            {"space": Config(workers=choice(0, 2), prefetch=choice(2, 4)), "search": search},
            ["3 trials: 3 configs", "fewer than the 30 asked for: the space has no more"],
        )
        for search in (Random(30), Grid(trials=30))
    ]
    + [
        ({**WIDE, "search": Random(20)}, [r"merged as the same: \d+ of \d\d combinations"]),
        (
            {"space": Config(), "confirm": 0},
            ["nothing: one config", "1 trial: 1 config", "confirm     no trials, so no speed-up"],
        ),
        (
            {"space": Config(lr=loguniform(0.01, 1)), "baseline": Config(lr=5.0)},
            ["4 trials: 4 configs, the baseline added"],
        ),
        (
            {"space": Config(workers=choice(0, 2)), "num_cores": 1},
            [r"check +\d+ trials, isolated: \d configs?, \d runs each isolated"],
        ),
    ],
)
def test_a_plan_has_a_line_for_each_of_its_parts(
    changes: Mapping[str, Any], lines: Sequence[str]
) -> None:
    text = "\n".join(plan_lines(plan(**changes)))
    assert [line for line in lines if not re.search(line, text)] == []


def test_what_a_limited_grid_leaves_out_is_in_the_plan() -> None:
    space = Config(lr=loguniform(0.01, 1), workers=choice(0, 2))
    lines = "\n".join(plan_lines(plan(space=space, search=Grid(trials=4))))
    assert "lr: loguniform(0.01, 1) [learning]: 3 points, each 10 times the one before" in lines
    assert "not looked at: 2 other configs of the grid" in lines
    assert " points, " not in "\n".join(plan_lines(plan(space=space, search=Random(4))))


def test_a_search_with_known_stages_is_shown_with_the_grid() -> None:
    lines = plan_lines(plan(search=Staged(), space=Config(workers=choice(0, 2, 4))))
    train = next(number for number, line in enumerate(lines) if line.startswith("probe "))
    assert lines[train : train + 4] == [
        "probe       2 to 8 trials, isolated, each about 5 % of a whole training: speeds",
        "train       1 to 2 trials",
        "            about 37 % to 80 % of the core-time of the grid of 3 configs",
        "            about 62 % of the time on twice the nodes, 38 % on ten times",
    ]


def test_the_rungs_are_named() -> None:
    lines = plan_lines(plan(epochs=9, stopping=Asha("val_acc", grace=1)))
    assert "stopping    after 1 and 3 of 9 epochs configs are compared by val_acc" in lines


def test_the_time_of_a_trial_is_the_median_of_earlier_ones_else_as_stated() -> None:
    stated = plan(trial_s={"": 148.0})
    assert "2 min 28 s a trial (as the sweep file has it" in "\n".join(plan_lines(stated))
    earlier = replace(stated, earlier_s=[20.0])
    assert "20 s a trial (median of 1 earlier trial)" in "\n".join(plan_lines(earlier))


def test_a_budget_is_shown_with_what_it_ends() -> None:
    made = plan(space=Config(workers=choice(0, 2)), trial_s={"": 30.0})
    lines = plan_lines(made, budgets=Budgets(time_s=3600.0))
    assert any(line.startswith("budget      the time budget of 3600 s: no") for line in lines)
    assert not any("ends the search before" in line for line in lines)
    tight = plan_lines(made, budgets=Budgets(time_s=200.0))
    assert any("ends the search before its last config" in line for line in tight)


# -- printed


def files_in(folder: Path) -> list[Path]:
    """Return all files, those left out that an import makes."""
    return sorted(path for path in folder.rglob("*") if "__pycache__" not in path.parts)


def test_a_plan_starts_and_writes_nothing(folder: Path) -> None:
    before, children = files_in(folder), children_of_this()
    done = run_main("never.py", "--plan")
    assert done.stderr == ""
    assert done.stdout.startswith("sweep       ?\n")
    assert "train       2 trials: 2 configs" in done.stdout
    assert files_in(folder) == before
    assert children_of_this() == children


def children_of_this() -> set[int]:
    """Child processes of this one but those that only the tests have."""
    return {child.pid for child in psutil.Process().children()} - {own.pid for own in STARTED}


def test_notes_come_before_the_plan(folder: Path) -> None:
    written(folder, GOOD, "digits.py")
    done = run_main(
        "digits.py", "--plan", "--data-root", "nowhere", "--cores-per-trial", "4096",
        "--address", "127.0.0.1:1", "--search", "random", "--trials", "2",
    )  # fmt: skip
    lines = done.stdout.splitlines()
    notes = [line for line in lines if line.startswith("NOTE: ")]
    assert [note.split(" ")[1] for note in notes] == ["mnist", "4096", "planned"]
    after = max(map(lines.index, notes)) + 1
    assert lines[after].startswith("sweep  "), "the plan follows the last note"
    assert "running on digits instead" in notes[0]
    assert "To get mnist: " in lines[1]
    assert lines[1].startswith("      "), "the rest of a note is indented"


def test_what_is_not_there_is_refused(folder: Path) -> None:
    written(folder, GOOD.replace('    embedded_data="digits",\n', ""), "strict.py")
    for arguments, message in (
        (["nevr.py"], "did you mean 'never.py'?"),
        (["never.py", "--resume", "nowhere"], "nowhere: is not a run directory"),
        (["strict.py", "--data-root", "nowhere"], "mnist is not under nowhere"),
    ):
        done = run_main("--plan", *arguments, code=2)
        assert done.stdout == ""
        assert message in done.stderr


def test_a_run_can_be_planned_without_naming_its_file_again(folder: Path) -> None:
    begun = replace(record_of("random"), options={"trials": 1})
    (folder / "begun").mkdir()
    (folder / "begun" / "sweep.json").write_text(json.dumps(begun.to_json()))
    done = run_main("--plan", "--resume", "begun")
    assert "1 config" in done.stdout


@pytest.mark.parametrize("owner", ["own", "another user's"])
def test_a_run_is_planned_by_its_record_alone_where_its_file_may_not_run(
    folder: Path, monkeypatch: pytest.MonkeyPatch, owner: str
) -> None:
    file = folder / "never.py"
    Scribe(folder / "begun").sweep(file=str(file), file_hash=hash_of(file))
    if owner == "own":
        file.write_text("raise AssertionError('it has run')")
    else:
        monkeypatch.setattr(os, "geteuid", lambda: file.stat().st_uid + 1)
    done = run_main("--plan", "--resume", "begun")
    for line in (
        "num_workers: choice(0, 3, 6, 8) [systems]",
        "in all      4 trials",
        " none",
    ):
        assert line in done.stdout
    for words, message in (
        (["--plan", "--trials", "9"], "name the file to plan more trials"),
        ([], "name the file to run: "),
    ):
        refused = run_main("--resume", "begun", *words, code=2)
        assert refused.stdout == ""
        assert "never.py: the run's sweep file is " in refused.stderr
        assert message in refused.stderr


def record_of(search: str) -> SweepRecord:
    """Return the record of ``never.py`` as it is, begun with a search and a budget."""
    options: dict[str, Any] = {"search": search, "trials": 5, "core_hours": 1.0}
    request = read_request(Options(sweep_file=Path("never.py"), **options))
    cores = cores_of_trial(request.sweep.cores_per_trial, request.here)
    return replace(
        question_record(request.sweep, request.file), options=options, cores_per_trial=cores
    )


@pytest.mark.parametrize(
    ("new", "arguments", "message"),
    [
        ("choice(0.1, 0.3)", [], "space: {'lr': 'choice(0.1, 0.2)'} then"),
        ("choice(0.1, 0.2)", ["--cores-per-trial", "1"], "cores_per_trial: "),
    ],
    ids=["the space", "the cores"],
)
def test_a_changed_sweep_is_not_planned_to_resume(
    folder: Path, new: str, arguments: list[str], message: str
) -> None:
    begun = record_of("random").to_json()
    (folder / "begun").mkdir()
    (folder / "begun" / "sweep.json").write_text(json.dumps(begun))
    first = json.dumps({"at": 1.0, "event": "sweep", "sweep": begun})
    (folder / "begun" / "journal.jsonl").write_text(f"{first}\n")
    run_main("--plan", "--resume", "begun")
    (folder / "never.py").write_text(SWEEP.replace("choice(0.1, 0.2)", new))
    done = run_main("--plan", "never.py", "--resume", "begun", *arguments, code=2)
    assert done.stdout == ""
    assert "--resume begun: the sweep has changed since" in done.stderr
    assert message in done.stderr


def test_a_plan_refuses_what_the_resumed_run_would_refuse(folder: Path) -> None:
    def planned(*more: str, search: str, events: Sequence[dict[str, Any]] = ()) -> str:
        run = folder / "begun"
        run.mkdir(exist_ok=True)
        begun = record_of(search)
        (run / "sweep.json").write_text(json.dumps(begun.to_json()))
        first = {"at": 1.0, "event": "sweep", "sweep": begun.to_json()}
        lines = [json.dumps({"at": 2.0, **event}) for event in (first, *events)]
        (run / "journal.jsonl").write_text("\n".join(lines) + "\n")
        (run / "answer.md").touch()
        done = run_main("--plan", "--resume", "begun", *more, code=None)
        assert (done.returncode == 2) is ("error: " in done.stderr)
        return done.stdout + done.stderr

    assert "train " in planned("--trials", "20", search="factored")
    assert "train " in planned("--trials", "20", search="random")
    cut = {"event": "cut", "part": "search", "by": "the core-hours", "limits": {"core_hours": 1.0}}
    damaged = planned(search="random", events=[cut])
    assert "journal.jsonl:2 is damaged: Object missing required field `text`" in damaged


def test_the_time_is_that_of_the_sweep_s_own_earlier_runs(folder: Path) -> None:
    for sweep in ("never", "another"):
        run = folder / "runs" / sweep / "a"
        earlier_run(
            run,
            [20.0],
            budget=Budget(epochs=1),
            cores_per_trial=1,
            data="",
            fixed={"num_workers": 0},
        )
    (folder / "third.py").write_text(SWEEP)
    planned = {
        name: run_main(f"{name}.py", "--plan", "--cores-per-trial", "1").stdout
        for name in ("never", "third")
    }
    assert "20 s a trial (median of 1 earlier trial)" in planned["never"]
    assert "unknown until the first trial has run" in planned["third"]


def test_a_run_that_has_begun_is_shown_with_what_it_has_spent() -> None:
    past: list[Event] = []
    for name, state in (("a", "completed"), ("b", "failed"), ("c", "completed"), ("d", "not_run")):
        past += [
            event_of({"at": 0.0, "trial_id": name, **event})
            for event in (
                {"event": "asked", "trial": made_trial(name, id=name)},
                {"event": "finished", "result": {"state": state}},
            )
        ]
    spent, budgets = Amount(time_s=90.0, core_s=7200.0), Budgets(core_hours=8)
    assert lines_of_the_past(Past(run_dir=Path("run"), events=past), spent, budgets) == [
        "done        3 trials: 2 completed, 1 failed, 1 not run",
        "spent       1 min 30 s, 2 core-hours",
        "            25 % of the budget of 8 core-hours",
    ]
