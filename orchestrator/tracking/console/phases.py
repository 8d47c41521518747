"""The phase of a sweep in a few words: what its trials are for, or what there is to do but them."""

from __future__ import annotations

from orchestrator.storage.history import SweepHistory
from orchestrator.storage.sweep_record import SweepRecord
from orchestrator.tracking.console.progress import Progress
from orchestrator.trial import Stage, Trial

SEARCH = "search"
CONFIRM = "confirm stage"


def phase_of_trial(trial: Trial, sweep: SweepRecord) -> str:
    """Return what a trial is for."""
    if trial.stage is Stage.CONFIRM:
        return "test run of the recommended config" if trial.evaluate_test else CONFIRM
    is_factored = sweep.search.startswith("Factored")
    if trial.stage is Stage.PROBE:
        return "probes of speed" if is_factored else "interference check"
    if trial.repeat >= sweep.rigor.repeats:
        return "further seeds" if is_factored else "repeats of the best"
    return "learning curves" if is_factored else SEARCH


def phase_of(history: SweepHistory, now: Progress) -> str:
    """Return what is done at the moment; it has a name between two trials too."""
    here = [each.trial for each in (now.running or now.held_up)]
    if here:
        phases = [phase_of_trial(trial, history.sweep) for trial in here]
        return max(set(phases), key=phases.count)
    if not any(trial.begun for trial in history.trials.values()):
        return "starting the first trial"
    if now.num_waiting:
        return "starting the next trial"
    return "analysing: which configs to run next, if any"
