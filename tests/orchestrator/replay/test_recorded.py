"""The recorded runs of a run directory, from its journal."""

from dataclasses import replace
from pathlib import Path

import pytest

from orchestrator.errors import RunDirectoryError
from orchestrator.kernel.journal import Journal
from orchestrator.replay.recorded import Recording, machine_of, read_recorded
from orchestrator.storage.files import RunDirectory
from orchestrator.storage.sweep_record import Capacity, SweepRecord
from orchestrator.trial import Budget, Report, Trial, TrialResult, TrialState
from tests.orchestrator.helpers.journalled import append
from tests.orchestrator.replay.made_runs import made_trial
from tests.orchestrator.tracking.journals import make_record

NINE = Budget(epochs=9)


class Recorder:
    """Writes a journal at times of a simulated clock."""

    def __init__(self, folder: Path, record: SweepRecord | None = None) -> None:
        self.folder, self.at = folder, 100.0
        directory = RunDirectory(folder)
        record = record or make_record()
        record.write(directory.path)
        self._journal = Journal(directory.journal, now=lambda: self.at)
        append(self._journal, "sweep", sweep=record.to_json())
        directory.release()

    def asks(self, trial: Trial) -> None:
        append(self._journal, "asked", trial=trial)

    def starts(self, trial: Trial, restored_epochs: int = 0) -> None:
        restored = {"restored_epochs": restored_epochs} if restored_epochs else {}
        append(self._journal, "started", trial_id=trial.id, node="here", cores=2, **restored)

    def reports(self, trial: Trial, epoch: int, elapsed_s: float, restored: int = 0) -> None:
        report = Report(
            step=10 * epoch, epoch=epoch, samples=80 * epoch, elapsed_s=elapsed_s,
            metrics={"val_acc": epoch / 10}, restored_epochs=restored,
        )  # fmt: skip
        append(self._journal, "report", trial_id=trial.id, report=report)

    def ends(
        self, trial: Trial, wall_s: float | None, state: str = "completed", reason: str = ""
    ) -> None:
        result = TrialResult(
            state=TrialState(state), reason=reason, wall_s=wall_s, started_at=100.0,
            metrics={"peak_rss_gib": 1.0},
        )  # fmt: skip
        append(self._journal, "finished", trial_id=trial.id, result=result)

    def recordings(self) -> list[Recording]:
        self._journal.close()
        return read_recorded(self.folder)[1]


@pytest.fixture
def recorder(tmp_path: Path) -> Recorder:
    return Recorder(tmp_path / "run")


def test_a_run_has_its_reports_and_times(recorder: Recorder) -> None:
    trial = made_trial(budget=Budget(epochs=2))
    recorder.asks(trial)
    recorder.starts(trial)
    recorder.reports(trial, 1, 5.0)
    recorder.reports(trial, 2, 9.0)
    recorder.at += 12
    recorder.ends(trial, 10.0)
    (recording,) = recorder.recordings()
    run = recording.run
    assert recording.trial == trial
    assert [(report.elapsed_s, report.epoch) for report in run.reports] == [(5.0, 1), (9.0, 2)]
    assert (run.wall_s, run.taken_s) == (10.0, 12.0)
    assert run.metrics == {"val_acc": 0.2, "peak_rss_gib": 1.0}


def test_the_pieces_of_a_curve_are_one_run(recorder: Recorder) -> None:
    first = made_trial(budget=replace(NINE, pause_after=1))
    rest = made_trial(id="a-1", budget=NINE)
    for trial, epochs, restored in ((first, [1], 0), (rest, [2, 3], 1)):
        recorder.asks(trial)
        recorder.starts(trial)
        for epoch in epochs:
            recorder.reports(trial, epoch, 5.0 * (epoch - restored), restored)
        recorder.ends(trial, 12.0, "stopped" if trial is first else "completed")
    (recording,) = recorder.recordings()
    assert [r.epoch for r in recording.run.reports] == [1, 2, 3]
    assert [r.elapsed_s for r in recording.run.reports] == [5.0, 17.0, 22.0]
    assert recording.run.wall_s == 24.0
    assert recording.run.budget == NINE


def test_a_piece_that_failed_before_its_first_report_is_how_the_curve_ended(
    recorder: Recorder,
) -> None:
    first = made_trial(budget=replace(NINE, pause_after=1))
    rest = made_trial(id="a-1", budget=NINE)
    for trial in (first, rest):
        recorder.asks(trial)
        recorder.starts(trial)
        if trial is first:
            recorder.reports(trial, 1, 5.0)
        recorder.ends(trial, 12.0, "stopped" if trial is first else "failed")
    (recording,) = recorder.recordings()
    assert [r.epoch for r in recording.run.reports] == [1]
    assert (recording.run.state, recording.run.wall_s) == (TrialState.FAILED, 24.0)


@pytest.mark.parametrize(
    ("reason", "pause_after", "gave_up"),
    [
        ("", None, False),
        ("paused after 1 of 9 epochs", 1, False),
        ("its training function raised TrialStopped", None, True),
        ("its training function raised TrialStopped", 3, True),
    ],
)
def test_a_trial_that_stopped_itself_ended_by_itself(
    recorder: Recorder, reason: str, pause_after: int | None, gave_up: bool
) -> None:
    trial = made_trial(budget=replace(NINE, pause_after=pause_after))
    recorder.asks(trial)
    recorder.starts(trial)
    recorder.reports(trial, 1, 5.0)
    recorder.ends(trial, 12.0, "stopped", reason)
    (recording,) = recorder.recordings()
    assert recording.run.ended_by_itself is gave_up


def test_a_retry_continues_after_the_earlier_attempt(recorder: Recorder) -> None:
    trial = made_trial(budget=Budget(epochs=2))
    recorder.asks(trial)
    recorder.starts(trial)
    recorder.reports(trial, 1, 50.0)
    recorder.starts(trial, restored_epochs=1)
    recorder.reports(trial, 2, 4.0, restored=1)
    recorder.ends(trial, 60.0)
    (recording,) = recorder.recordings()
    assert [report.elapsed_s for report in recording.run.reports] == [50.0, 54.0]


def test_what_has_not_run_to_an_end_is_no_run(recorder: Recorder) -> None:
    finished, cut, left = made_trial("a"), made_trial("b"), made_trial("c")
    for trial in (finished, cut, left):
        recorder.asks(trial)
        recorder.starts(trial)
    recorder.ends(finished, 1.0, "failed")
    recorder.ends(left, None, "not_run")
    assert [one.trial.id for one in recorder.recordings()] == ["a-0"]


def test_a_run_without_an_end_a_replay_and_one_without_a_journal_are_no_table(
    recorder: Recorder, tmp_path: Path
) -> None:
    with pytest.raises(RunDirectoryError, match="no trial of it has run to an end"):
        recorder.recordings()
    nested = Recorder(tmp_path / "nested", replace(make_record(), replayed="runs/other"))
    with pytest.raises(RunDirectoryError, match="is itself a replay, of runs/other"):
        nested.recordings()


def test_the_machine_is_the_recorded_one_unless_stated() -> None:
    record = replace(make_record(), cores_per_trial=2, capacity=Capacity(per_node=3, total=3))
    assert [node.cpus for node in machine_of(record).nodes] == [6]
    assert [node.cpus for node in machine_of(record, cores=40, nodes=2).nodes] == [40, 40]
