"""Recorded runs, trials and launches made for the tests of a replay."""

from dataclasses import replace
from pathlib import Path

from orchestrator.data import DataFolders
from orchestrator.kernel.executor import Launch, Needs, Source
from orchestrator.replay.recorded import RecordedRun
from orchestrator.trainable import Demand
from orchestrator.trial import Budget, Isolation, Report, Stage, Trial, TrialState

SET_UP_S, TRAIN_S, EVAL_S, PROCESS_S = 1.0, 10.0, 2.0, 0.5
"""Seconds of a made run: before its first epoch, of an epoch, of an evaluation, of its end."""
STEPS = 1000
"""Steps of an epoch, in blocks of ten."""


def made_run(epochs: int = 3, **fields: object) -> RecordedRun:
    """Return a run with an accuracy of a tenth of the epochs after each epoch."""
    each_s = TRAIN_S + EVAL_S
    reports = [
        Report(
            step=STEPS * epoch,
            epoch=epoch,
            samples=8 * STEPS * epoch,
            elapsed_s=SET_UP_S + each_s * epoch,
            metrics={
                "val_acc": epoch / 10,
                "samples_per_s": 800.0 + epoch,
                "train_s": TRAIN_S * epoch,
                "eval_s": EVAL_S * epoch,
                "first_loss": 2.5,
            },
            tags={"bound": "loader"},
        )
        for epoch in range(1, epochs + 1)
    ]
    whole = RecordedRun(
        reports=reports,
        wall_s=SET_UP_S + each_s * epochs + PROCESS_S,
        ceilings_s=3.0,
        metrics={**(reports[-1].metrics if reports else {}), "peak_rss_gib": 2.0, "headroom": 1.2},
        tags={"cpu_model": "made"},
        budget=Budget(epochs=epochs),
    )
    return replace(whole, **fields)  # type: ignore[arg-type]


def failed_run(wall_s: float = 7.0, state: TrialState = TrialState.FAILED) -> RecordedRun:
    """Return a run that ended before its first report."""
    return RecordedRun(wall_s=wall_s, state=state, reason="it broke", budget=Budget(epochs=3))


def made_trial(name: str = "a", **fields: object) -> Trial:
    """Return a trial of the config ``{"name": name}``."""
    trial = Trial(
        id=f"{name}-0",
        stage=Stage.TRAIN,
        config={"name": name},
        budget=Budget(epochs=3),
        seed=0,
        curve=f"curve of {name}",
    )
    return replace(trial, **fields)  # type: ignore[arg-type]


def made_launch(trial: Trial, **fields: object) -> Launch:
    """Return a launch of two cores."""
    here = Path()
    launch = Launch(
        trial=trial,
        needs=Needs(
            source=Source(), data="", folders=DataFolders(root=here, cache=here), fingerprint=""
        ),
        demand=Demand(),
        num_cores=2,
        isolation=Isolation.LEASED,
        preload=(),
        scratch=here,
    )
    return replace(launch, **fields)  # type: ignore[arg-type]
