"""Journals as a driver writes them, and their content read in the plainest way."""

from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from orchestrator.kernel.events import Event
from orchestrator.kernel.journal import Journal, read_journal
from orchestrator.metric_table import MEASURED
from orchestrator.metrics import maximize
from orchestrator.space.knob import Role
from orchestrator.storage.files import RunFile
from orchestrator.storage.sweep_record import KnobRecord, SweepRecord
from orchestrator.sweep.rigor import Rigor
from orchestrator.trial import Budget, Report, Stage, Trial, TrialResult, TrialState, trial_id
from tests.orchestrator.helpers.journalled import append, lines_of

WORKERS = (0, 3, 6, 8)
UNMEASURED = {"test_acc", "peak_gpu_gib", "gpu_util"}


KNOBS = {
    "lr": KnobRecord(role=Role.LEARNING, default=0.003, allowed="a float > 0"),
    "num_workers": KnobRecord(role=Role.SYSTEMS, default=0, allowed="an int >= 0"),
    "pin_memory": KnobRecord(role=Role.SYSTEMS, default=False, allowed="a bool"),
    "fanouts": KnobRecord(role=Role.BOTH, default=[10, 25], allowed="a tuple of int >= 1"),
    "amp": KnobRecord(role=Role.BOTH, default="off", allowed="one of 'off', 'bf16'"),
}


def make_record(**changes: object) -> SweepRecord:
    """Return the record of a small sweep."""
    base = SweepRecord(
        name="loader",
        file="sweeps/loader.py",
        question="How many workers?",
        trainable="graphsage",
        data="products-synthetic",
        data_fingerprint="f00d",
        data_note="ogbn-products is not here; this is products-synthetic",
        seed=7,
        objectives=(maximize("samples_per_s"), maximize("val_acc")),
        knobs=KNOBS,
        space={"num_workers": "choice(0, 3, 6, 8)", "lr": "loguniform(0.001, 0.03)"},
        fixed={"pin_memory": False, "fanouts": [10, 25], "amp": "off"},
        baseline=config(0) | {"fanouts": [10, 25]},
        budget=Budget(epochs=3),
        rigor=Rigor(max_repeats=1, confirm=0, max_confirm=0, finalists=1, check_isolated=0),
        cores_per_trial=2,
        command_line=("python", "-m", "orchestrator", "sweeps/loader.py"),
        git={"commit": "c0ffee", "dirty": False},
        started_at=1.0,
        num_planned=4,
    )
    return replace(base, **changes)  # type: ignore[arg-type]


def config(number: int) -> dict[str, Any]:
    """Return the config of the trial asked for as the ``number``-th."""
    return {
        "lr": 0.003 + 0.001 * (number // len(WORKERS)),
        "num_workers": WORKERS[number % len(WORKERS)],
        "pin_memory": False,
        "fanouts": (10, 25),
        "amp": "off",
    }


def make_trial(number: int, *, stage: Stage = Stage.TRAIN, repeat: int = 0) -> Trial:
    content = config(number)
    return Trial(
        id=trial_id({"stage": stage, "repeat": repeat, **content}),
        stage=stage,
        config=content,
        budget=Budget(epochs=3),
        seed=7 + repeat,
        repeat=repeat,
    )


def figures(trial: Trial, epoch: int) -> dict[str, float]:
    """Return figures that differ between trials and epochs."""
    salt = int(trial.id[:6], 16) / 2**24
    measured = {
        metric.name: salt + epoch * (1 + index)
        for index, metric in enumerate(MEASURED)
        if metric.name not in UNMEASURED
    }
    return measured | {"samples_per_s": 1e4 * (1 + salt), "val_acc": 0.9 - 0.1 / epoch}


class Scribe:
    """Writer of a sweep's events, to a journal and to a tracker, as the driver does."""

    def __init__(self, run_dir: Path, send: Callable[[Event], object] = lambda event: None) -> None:
        run_dir.mkdir(parents=True, exist_ok=True)
        self.run_dir = run_dir
        self._journal = Journal(run_dir / RunFile.JOURNAL)
        self._send = send

    def record(self, event: str, **content: object) -> None:
        self._send(append(self._journal, event, **content))

    def sweep(self, **changes: object) -> "Scribe":
        self.record("sweep", sweep=make_record(**changes).to_json())
        return self

    def resumed(self) -> None:
        words = ("python", "-m", "orchestrator", "--resume", str(self.run_dir))
        self.record("resumed", sweep=make_record(command_line=words).to_json())

    def asked(self, trial: Trial) -> Trial:
        self.record("asked", trial=trial)
        return trial

    def started(self, trial: Trial) -> None:
        self.record("started", trial_id=trial.id, node="node0", cores=2)

    def reported(self, trial: Trial, epoch: int) -> None:
        report = Report(
            step=100 * epoch,
            epoch=epoch,
            samples=10_000 * epoch,
            elapsed_s=0.5 * epoch,
            metrics=figures(trial, epoch),
            tags={"bound": "loader"},
        )
        self.record("report", trial_id=trial.id, report=report)

    def finished(
        self, trial: Trial, state: TrialState = TrialState.COMPLETED, **changes: object
    ) -> None:
        ran = state in (TrialState.COMPLETED, TrialState.STOPPED)
        result = TrialResult(
            state=state,
            reason="" if ran else "RuntimeError: no luck\nlast lines of output",
            metrics=figures(trial, 3) | {"peak_rss_gib": 1.25} if ran else {},
            tags={"bound": "loader", "oversubscribed": "false"} if ran else {},
            started_at=1_800_000_000.125 if ran else None,
            wall_s=1.5 if ran else None,
            node="node0" if ran else "",
            device="cpu" if ran else "",
            cores=2 if ran else None,
            isolation="leased" if ran else "",
        )
        self.record("finished", trial_id=trial.id, result=replace(result, **changes))

    def whole(self, trial: Trial, state: TrialState = TrialState.COMPLETED) -> Trial:
        """Journal a trial from beginning to end."""
        self.asked(trial)
        if state not in (TrialState.INFEASIBLE, TrialState.NOT_RUN):
            self.started(trial)
            for epoch in (1, 2, 3):
                self.reported(trial, epoch)
        self.finished(trial, state)
        return trial

    def ended(self, exit_code: int = 0) -> None:
        self.record("ended", exit_code=exit_code)


def events_of(run_dir: Path) -> list[Event]:
    return list(read_journal(run_dir / RunFile.JOURNAL))


def histories(run_dir: Path) -> dict[str, dict[str, list[tuple[int, float]]]]:
    """Return steps and values of every metric of every finished trial, as due in MLflow."""
    events = lines_of(run_dir / RunFile.JOURNAL)
    finished = {e["trial_id"]: e["result"] for e in events if e["event"] == "finished"}
    return {id_: _history(id_, result, events) for id_, result in finished.items()}


def _history(
    id_: str, result: dict[str, Any], events: list[dict[str, Any]]
) -> dict[str, list[tuple[int, float]]]:
    points: dict[str, list[tuple[int, float]]] = defaultdict(list)
    reports = list(_valid_reports(id_, events))
    for report in reports:
        for name, value in report["metrics"].items():
            points[name].append((report["step"], value))
    last_step = reports[-1]["step"] if reports else 0
    for name, value in result["metrics"].items():
        if name not in points or points[name][-1][1] != value:
            points[name].append((last_step, value))
    return dict(points)


def _valid_reports(id_: str, events: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    own = [event for event in events if event.get("trial_id") == id_]
    starts = [index for index, event in enumerate(own) if event["event"] == "started"]
    for event in own[starts[-1] :] if starts else []:
        if event["event"] == "report":
            yield event["report"]
