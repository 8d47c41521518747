"""A whole sweep played on made runs: deterministic, and blind to the future."""

import json
import math
import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from benchmarks.simulation import play
from orchestrator.analysis.tables.load import write_run
from orchestrator.machine import Machine, Node
from orchestrator.replay.executor import ReplayExecutor
from orchestrator.replay.recorded import RecordedRun
from orchestrator.search import Asha
from orchestrator.space.domains import choice
from orchestrator.sweep.definition import Sweep
from orchestrator.sweep.rigor import Rigor
from orchestrator.trial import Report, Trial
from tests.orchestrator.helpers.journalled import lines_of, replace_in
from tests.orchestrator.search.playing import TRAINABLE, Config

EPOCHS = 4
CORES = Machine(nodes=(Node(name="n0", cpus=3),))


class Made:
    """Runs of random curves and speeds; what is later than a moment of a trial is NaN."""

    def __init__(self, known_s: Mapping[str, float] | None = None) -> None:
        # Seconds of each trial's own time up to which its run is known, by trial id
        self.known_s = known_s

    def draw(self, trial: Trial) -> RecordedRun:
        rng = random.Random(f"{dict(trial.config)} {trial.repeat}")
        epoch_s, accuracy = rng.uniform(5, 20), 0.0
        reports = []
        for epoch in range(1, EPOCHS + 1):
            accuracy += rng.uniform(0, 0.2)
            metrics = {"val_acc": accuracy, "samples_per_s": 100 / epoch_s}
            reports.append(self._known(trial, epoch, epoch * epoch_s, metrics))
        wall_s = EPOCHS * epoch_s + 1
        final = self._known(trial, EPOCHS, wall_s, {"val_acc": accuracy}).metrics
        return RecordedRun(reports=reports, wall_s=wall_s, metrics={**reports[-1].metrics, **final})

    def _known(self, trial: Trial, epoch: int, at_s: float, metrics: Mapping[str, float]) -> Report:
        known = self.known_s is None or at_s <= self.known_s.get(trial.id, 0.0) + 1e-9
        shown = metrics if known else dict.fromkeys(metrics, math.nan)
        return Report(step=epoch, epoch=epoch, samples=epoch, elapsed_s=at_s, metrics=shown)


def sweep(seed: int = 0) -> Sweep[Any]:
    return Sweep(
        TRAINABLE,
        question="?",
        space=Config(workers=choice(0, 3, 6), batch=choice(100, 200, 400)),
        epochs=EPOCHS,
        stopping=Asha("val_acc", grace=1, factor=2),
        cores_per_trial=1,
        rigor=Rigor(confirm=0, max_repeats=1, check_isolated=0),
        seed=seed,
    )


def played(run_dir: Path, runs: Made | None = None) -> ReplayExecutor:
    return play(sweep(), (runs or Made()).draw, CORES, run_dir, source="made")


def test_the_same_seed_gives_the_same_journal_byte_for_byte(tmp_path: Path) -> None:
    journals = []
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        played(tmp_path / name / "run")
        journal = tmp_path / name / "run" / "journal.jsonl"
        replace_in(journal, (str(tmp_path / name), ""))
        journals.append(journal.read_bytes())
    assert journals[0] == journals[1]


def test_the_journal_is_one_of_a_sweep(tmp_path: Path) -> None:
    spent = played(tmp_path / "run")
    tables = write_run(tmp_path / "run")
    trials, curves = tables.trials, tables.curves
    assert len(trials) == 9
    assert set(trials["state"]) == {"completed", "stopped"}
    assert spent.core_s == pytest.approx(trials["wall_s"].sum(), abs=0.01)
    assert spent.core_s > spent.simulated_s, "three run at the same time"
    assert len(curves) < 9 * EPOCHS


def test_no_decision_rests_on_what_was_reported_later(tmp_path: Path) -> None:
    played(tmp_path / "whole")
    whole = lines_of(tmp_path / "whole" / "journal.jsonl")
    moments = sorted({event["at"] for event in whole if event["event"] in ("report", "finished")})
    assert len(moments) > 20
    for number, moment in enumerate(moments):
        run_dir = tmp_path / str(number)
        played(run_dir, Made(known_s(whole, moment)))
        poisoned = lines_of(run_dir / "journal.jsonl")
        assert until(poisoned, moment) == until(whole, moment)


def known_s(events: Sequence[dict[str, Any]], moment: float) -> dict[str, float]:
    """Return the seconds that each trial alone has run by a moment."""
    starts = {e["trial_id"]: e["at"] for e in events if e["event"] == "started"}
    return {trial_id: moment - at + 0.001 for trial_id, at in starts.items() if at <= moment}


def until(events: Sequence[dict[str, Any]], moment: float) -> list[str]:
    """Return the events up to a moment, those that the search answers with included."""
    return [json.dumps(event) for event in events[1:] if event["at"] <= moment]
