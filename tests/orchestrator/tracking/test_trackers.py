"""A sweep's own trackers: each call once, also where one fails or a run is resumed."""

import csv
import json
import sys
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from orchestrator.kernel.journal import read_journal
from orchestrator.tracking import Tracker, trackers
from orchestrator.tracking.trackers import Trackers
from orchestrator.tracking.writers import Csv, TensorBoard
from orchestrator.trial import Report, Trial, TrialResult, TrialState
from tests.conftest import ROOT, RunCli
from tests.orchestrator.tracking.journals import Scribe, make_trial


class Calls(Tracker):
    """Remembers its calls; raises at some of them."""

    def __init__(self, fails_at: int | None = None) -> None:
        self.calls: list[tuple[object, ...]] = []
        self.fails_at = fails_at

    def report(self, trial: Trial, report: Report) -> None:
        self._add(trial.id, report.epoch)

    def finish(self, trial: Trial, result: TrialResult, reports: Sequence[Report]) -> None:
        self._add(trial.id, result.state.value, [each.epoch for each in reports])

    def _add(self, *call: object) -> None:
        if len(self.calls) == self.fails_at:
            raise OSError("server is away")
        self.calls.append(call)


def a_run(folder: Path, own: Sequence[Tracker], messages: list[str] | None = None) -> list[str]:
    """Journal a run of three trials with trackers; return their last lines.

    The first has a second start, the second ends as infeasible after all, the third is not run.
    """
    folder.mkdir(exist_ok=True)
    fold = Trackers(own, folder, say=(messages if messages is not None else []).append)
    scribe = Scribe(folder, fold.apply)
    one, two, three = (make_trial(number) for number in range(3))
    scribe.sweep()
    for trial, epochs in ((one, [1]), (one, [1, 2, 3]), (two, [1, 2])):
        if epochs != [1, 2, 3]:
            scribe.asked(trial)
        scribe.started(trial)
        for epoch in epochs:
            scribe.reported(trial, epoch)
    scribe.finished(one)
    scribe.finished(two)
    scribe.record("judged", trial_id=two.id, result=TrialResult(state=TrialState.INFEASIBLE))
    scribe.asked(three)
    scribe.finished(three, TrialState.NOT_RUN)
    return fold.close()


def expected() -> list[tuple[object, ...]]:
    one, two = make_trial(0).id, make_trial(1).id
    reports: list[tuple[object, ...]] = [(one, 1), (one, 1), (one, 2), (one, 3), (two, 1), (two, 2)]
    completed = [(one, "completed", [1, 2, 3]), (two, "completed", [1, 2])]
    return [*reports, *completed, (two, "infeasible", [1, 2])]


def resumed(folder: Path, own: Sequence[Tracker]) -> list[str]:
    past = list(read_journal(folder / "journal.jsonl"))
    fold = Trackers(own, folder, past)
    Scribe(folder, fold.apply).resumed()
    return fold.close()


def test_each_call_comes_once_and_a_resumed_run_repeats_none(tmp_path: Path) -> None:
    first, later, new = Calls(), Calls(), Csv()
    assert a_run(tmp_path, [first]) == []
    assert first.calls == expected()
    assert first.run_dir == tmp_path

    assert resumed(tmp_path, [later, new]) == []
    assert later.calls == []
    # One that is named later gets the whole run.
    assert {row["state"] for row in rows(tmp_path)} == {"", "completed", "infeasible"}


@pytest.mark.parametrize("fails_at", [0, 4, 8])
def test_one_that_raises_is_off_and_resumed_run_completes_it(tmp_path: Path, fails_at: int) -> None:
    failing, other, again = Calls(fails_at), Calls(), Calls()
    (line,) = a_run(tmp_path, [failing, other])
    assert line.startswith("tracker Calls is off: OSError: server is away (")
    assert "test_trackers.py:" in line
    assert f"--resume {tmp_path} completes it" in line
    assert other.calls == expected()

    assert resumed(tmp_path, [again]) == []
    assert failing.calls + again.calls == expected()


def test_a_slow_one_delays_no_event_and_is_waited_for_for_a_while(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trackers, "CLOSE_S", 0.1)
    has_come, may_go_on = threading.Event(), threading.Event()

    class Slow(Tracker):
        def report(self, trial: Trial, report: Report) -> None:
            has_come.set()
            may_go_on.wait(60)

    (line,) = a_run(tmp_path, [Slow()])
    assert has_come.wait(10)
    assert line.startswith("Slow: not done within 0.1 s; --resume ")
    may_go_on.set()
    for thread in threading.enumerate():
        if thread.daemon and "_follow" in thread.name:
            thread.join(10)


# -- the package's own trackers


def rows(folder: Path) -> list[dict[str, str]]:
    with (folder / "progress.csv").open(newline="") as file:
        return list(csv.DictReader(file))


def test_a_csv_file_has_a_row_a_report_and_one_a_trial(tmp_path: Path) -> None:
    a_run(tmp_path, [Csv()])

    of_one = [row for row in rows(tmp_path) if row["trial_id"] == make_trial(0).id]
    assert [(row["epoch"], row["state"]) for row in of_one] == [
        ("1", ""), ("2", ""), ("3", ""), ("3", "completed"),
    ]  # fmt: skip
    assert [row["metrics.val_acc"] for row in of_one[:2]] == ["0.8", "0.85"]
    assert [row["metrics.peak_rss_gib"] for row in of_one][-1] == "1.25"
    assert of_one[0]["params.fanouts"] == "10,25"


def test_new_columns_keep_the_rows_before(tmp_path: Path) -> None:
    tracker, trial = Csv("a/b.csv"), make_trial(0)
    tracker.run_dir = tmp_path
    for figures in ({"x": 1.0}, {"y": 2.0}, {"y": 3.0}):
        tracker.finish(trial, TrialResult(state=TrialState.COMPLETED, metrics=figures), [])

    with (tmp_path / "a/b.csv").open(newline="") as file:
        found = [(row["metrics.x"], row["metrics.y"]) for row in csv.DictReader(file)]
    assert found == [("1.0", ""), ("", "2.0"), ("", "3.0")]


def test_tensorboard_has_the_points_of_the_last_start_and_the_knobs(tmp_path: Path) -> None:
    a_run(tmp_path, [TensorBoard()])

    folder = tmp_path / "tensorboard" / f"train_{make_trial(0).id}"
    points, knobs = read_events(folder)
    assert points["val_acc"] == pytest.approx({100: 0.8, 200: 0.85, 300: 0.9 - 0.1 / 3})
    assert set(points["peak_rss_gib"]) == {100, 200, 300}
    assert points["peak_rss_gib"][300] == 1.25
    assert {"lr", "num_workers", "fanouts", "state"} <= knobs


def test_tensorboard_counts_epochs_where_there_are_no_steps(tmp_path: Path) -> None:
    tracker, trial = TensorBoard(), make_trial(0)
    tracker.run_dir = tmp_path
    reports = [
        Report(step=0, epoch=n, samples=0, elapsed_s=1.0, metrics={"x": n}) for n in (1, 2, 3)
    ]
    for report in reports:
        tracker.report(trial, report)
    tracker.finish(trial, TrialResult(state=TrialState.COMPLETED, metrics={"x": 3}), reports)

    points, _ = read_events(tmp_path / "tensorboard" / f"train_{trial.id}")
    assert points == {"x": {1: 1, 2: 2, 3: 3}}


def read_events(folder: Path) -> tuple[dict[str, dict[int, float]], set[str]]:
    """Return points by name and step, and names of knobs, as TensorBoard itself reads them."""
    from tensorboardX.proto.event_pb2 import Event, SessionLog
    from tensorboardX.proto.plugin_hparams_pb2 import HParamsPluginData

    points: dict[str, dict[int, float]] = {}
    knobs: set[str] = set()
    for file in sorted(folder.iterdir(), key=lambda path: path.stat().st_mtime_ns):
        content, at = file.read_bytes(), 0
        while at < len(content):
            size = int.from_bytes(content[at : at + 8], "little")
            event = Event.FromString(content[at + 12 : at + 12 + size])
            at += 16 + size
            if event.session_log.status == SessionLog.START:
                for values in points.values():
                    for step in [step for step in values if step >= event.step]:
                        del values[step]
            for value in event.summary.value:
                if value.metadata.plugin_data.plugin_name == "hparams":
                    plugin = HParamsPluginData.FromString(value.metadata.plugin_data.content)
                    knobs |= set(plugin.session_start_info.hparams)
                else:
                    points.setdefault(value.tag, {})[event.step] = value.simple_value
    return points, knobs


def test_the_page_has_a_tracker_for_weights_and_biases(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[FakeRun] = []
    wandb = ModuleType("wandb")
    wandb.init = lambda **named: made.append(FakeRun(named)) or made[-1]  # type: ignore[attr-defined,func-returns-value]
    monkeypatch.setitem(sys.modules, "wandb", wandb)
    code = (ROOT / "docs/mlflow.md").read_text().partition("```python\n")[2].partition("```")[0]
    names: dict[str, Any] = {"__name__": "page"}
    exec(code, names)

    assert a_run(tmp_path / "run", [names["WeightsAndBiases"]("mine")]) == []
    one, two, after = made  # the last one for the verdict that came later
    assert one.named["id"] == f"run-{make_trial(0).id}"
    assert one.named["id"] != two.named["id"] == after.named["id"]
    assert one.named["config"]["num_workers"] == 0
    assert [step for step, _ in one.logged] == [100, 100, 200, 300]
    assert one.summary["state"] == "completed"
    assert after.summary["state"] == "infeasible"
    assert all(each.has_finished for each in made)


@dataclass
class FakeRun:
    """A run of the module that takes the place of wandb."""

    named: Mapping[str, Any]
    logged: list[tuple[int, Mapping[str, float]]] = field(default_factory=list)
    summary: dict[str, object] = field(default_factory=dict)
    has_finished: bool = False

    def log(self, figures: Mapping[str, float], step: int) -> None:
        self.logged.append((step, figures))

    def finish(self) -> None:
        self.has_finished = True


# -- in a sweep

SWEEP = """
from orchestrator import Rigor, Sweep, choice, from_function, maximize
from orchestrator.tracking import Csv, Tracker


class Broken(Tracker):
    def finish(self, trial, result, reports):
        raise RuntimeError("no luck")


def train(lr=0.1):
    return {"val_acc": lr}


SWEEP = Sweep(
    from_function(train, reports=[maximize("val_acc")]),
    question="?",
    space={"lr": choice(0.1, 0.2)},
    rigor=Rigor(confirm=0, max_repeats=1),
    trackers=[Csv(), Broken()],
)
"""


def test_a_sweep_continues_without_a_tracker_that_raises(tmp_path: Path, run_cli: RunCli) -> None:
    (tmp_path / "own.py").write_text(SWEEP)
    inline = ["--executor", "inline", "--isolation", "shared", "--no-mlflow"]
    done = run_cli("own.py", *inline, "--out", "run")

    assert done.stdout.count("tracker Broken is off: RuntimeError: no luck (own.py:8)") == 1
    states = [row["state"] for row in rows(tmp_path / "run")]
    assert states.count("completed") == 2
    counts = json.loads((tmp_path / "run/trackers.json").read_text())
    assert counts["Broken"] < counts["Csv"]

    before = (tmp_path / "run/progress.csv").read_bytes()
    run_cli("own.py", "--resume", "run")
    assert (tmp_path / "run/progress.csv").read_bytes() == before
