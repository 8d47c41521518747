"""Trials, figures, configs and phases as text, the same in a file and on a terminal.

A line names only the knobs that vary within the sweep and differ from the baseline's, which the
first lines name.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from orchestrator.formats import clock, number, percent
from orchestrator.kernel.executor import steady_time
from orchestrator.metric_table import unit_of
from orchestrator.metrics import is_accuracy
from orchestrator.storage.history import SweepHistory, TrialHistory, cell_text
from orchestrator.storage.sweep_record import SweepRecord
from orchestrator.texts import bounded, first_line
from orchestrator.trial import Stage, Trial, TrialState

SPEED: Final = "samples_per_s"
"""The metric that a trial's speed is read from."""
COLOURS: Final = {
    TrialState.COMPLETED: "green",
    TrialState.STOPPED: "cyan",
    TrialState.INFEASIBLE: "yellow",
    TrialState.FAILED: "red",
    TrialState.NOT_RUN: "bright_black",
}
QUIET, BOLD, NOTE = "dim", "bold", "bold yellow"

SEARCH: Final = "search"
TRAINED: Final = (TrialState.COMPLETED, TrialState.STOPPED)


def phase_of_trial(trial: Trial, sweep: SweepRecord) -> str:
    """Return the purpose of a trial."""
    if trial.stage.is_final:
        of_test = "test run of the recommended config"
        return of_test if trial.evaluate_test else f"{trial.stage} stage"
    is_factored = sweep.search.startswith("Factored")
    if trial.stage is Stage.PROBE:
        return "probes of speed" if is_factored else "interference check"
    if trial.repeat >= sweep.rigor.repeats:
        return "further seeds" if is_factored else "repeats of the best"
    return "learning curves" if is_factored else SEARCH


def wait(trial: TrialHistory, num_more: int = 0) -> str:
    """Return for how long a trial has waited, and what for; ``num_more`` wait for the same."""
    waited = clock(steady_time() - trial.waits_since)
    has = f"and {num_more} more have" if num_more else "has"
    return f"{label_of(trial)} {has} waited {waited} for {bounded(trial.waits_for)}"


def outcome(trial: TrialHistory, history: SweepHistory) -> Iterator[str]:
    """Yield a trial's state, its figures or the reason why it has none, and its time."""
    result = trial.result
    assert result is not None
    if result.state in TRAINED:
        yield str(result.state)
        yield from figures(trial.figures(), history.sweep)
    else:
        reason = first_line(result.reason) or "no reason given"
        yield f"{str(result.state).replace('_', ' ')}: {bounded(reason)}"
    if result.wall_s is not None:
        yield f"{result.wall_s:.1f} s"


def figures(known: Mapping[str, float], sweep: SweepRecord) -> Iterator[str]:
    """Yield the speed and the objectives among some figures."""
    for metric in dict.fromkeys([SPEED, *(each.metric for each in sweep.objectives)]):
        if metric in known:
            yield named_figure(metric, known[metric])


def label_of(trial: TrialHistory) -> str:
    """Return the first of a trial's id, with its stage and repeat where they are special."""
    asked = trial.trial
    stage = "" if asked.stage is Stage.TRAIN else f" {asked.stage}"
    return asked.id[:6] + stage + (f" #{asked.repeat + 1}" if asked.repeat else "")


def named_figure(metric: str, value: float) -> str:
    """Return a value as the report has it, with its unit or its name: ``val_acc 86.67 %``."""
    if metric == SPEED:
        return f"{number(value)} samples/s"
    if is_accuracy(metric) and abs(value) <= 1:
        return f"{metric} {percent(value, digits=2)}"
    return f"{metric} {number(value)} {unit_of(metric)}".rstrip()


def settings(config: Mapping[str, Any], names: Iterable[str]) -> list[str]:
    """Return the named knobs of a config, each as ``num_workers=3``."""
    return [f"{name}={_short(config[name])}" for name in names if name in config]


def differing(config: Mapping[str, Any], sweep: SweepRecord) -> list[str]:
    """Return the varied knobs in which a config differs from the baseline.

    Returns:
        Each as ``num_workers=3``; for the baseline itself the one word ``baseline``.
    """
    baseline = sweep.baseline
    unlike = [n for n in sweep.space if cell_text(config.get(n)) != cell_text(baseline.get(n))]
    return settings(config, unlike) or ["baseline"]


def _short(value: object) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    return f"{value:.3g}" if isinstance(value, float) else cell_text(value)
