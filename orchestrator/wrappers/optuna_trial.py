"""One trial of an Optuna objective, in its own process: a study of one trial."""

import json
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, Final
from zlib import crc32

import optuna
from optuna.distributions import BaseDistribution, CategoricalDistribution, distribution_to_json
from optuna.samplers import RandomSampler
from optuna.trial import FrozenTrial

from orchestrator.measurement.run import Run, TrialStopped
from orchestrator.search.suggested import SPACE, VALUES

TIME: Final = "time_total_s"
"""Figure that is not returned: the time of the call."""


def run_objective(
    objective: Callable[[Any], Any], text: str, run: Run, metrics: Sequence[str]
) -> None:
    """Run an objective once, and report what it returns.

    Args:
        objective: Called with a trial.
        text: Its values.
        run: What it reports to.
        metrics: Names of what it returns, in order, and perhaps :data:`TIME`.

    Raises:
        TrialStopped: It raised ``TrialPruned``.
        ValueError: It returned another number of figures.
    """
    optuna.logging.set_verbosity(optuna.logging.WARNING)  # of studies of one trial
    study = optuna.create_study(sampler=_FromText(text))
    trial = study.ask()
    own_report = trial.report
    returned_names = [name for name in metrics if name != TIME]

    def report(value: float, step: int) -> None:
        own_report(value, step)
        run.tags |= _tags(trial)
        run.count_epoch()
        with suppress(TrialStopped):  # should_prune() returns True from here on
            run.report(**{returned_names[0]: float(value)})

    trial.report = report  # type: ignore[method-assign]
    trial.should_prune = lambda: run.told_to_stop  # type: ignore[method-assign]
    try:
        returned = objective(trial)
    except optuna.TrialPruned:
        raise TrialStopped from None
    finally:
        run.tags |= _tags(trial)
    values = returned if isinstance(returned, (tuple, list)) else [returned]
    if len(values) != len(returned_names):
        raise ValueError(f"it returned {returned!r}: give {' and '.join(returned_names)}")
    figures = {n: each for n, each in trial.user_attrs.items() if type(each) in (int, float)}
    figures |= {TIME: run.elapsed_s} if TIME in metrics else {}
    with suppress(TrialStopped):  # it has ended in any case
        run.report(**figures, **dict(zip(returned_names, values, strict=True)))


class _FromText(RandomSampler):
    """Gives the values of a text, and draws others at random, the same for the same text."""

    def __init__(self, text: str) -> None:
        super().__init__(seed=crc32(text.encode()))
        self._given = json.loads(text)

    def sample_independent(
        self,
        study: optuna.Study,
        trial: FrozenTrial,
        param_name: str,
        param_distribution: BaseDistribution,
    ) -> Any:  # noqa: ANN401 - of any type
        value = self._given.get(param_name)
        if param_name in self._given and _contains(param_distribution, value):
            return value
        return super().sample_independent(study, trial, param_name, param_distribution)


def _contains(distribution: Any, value: Any) -> bool:  # noqa: ANN401 - of any type
    """Return True for a value of a distribution; its range may depend on other values."""
    if isinstance(distribution, CategoricalDistribution):
        return value in distribution.choices
    return isinstance(value, (int, float)) and bool(distribution.low <= value <= distribution.high)


def _tags(trial: optuna.Trial) -> dict[str, str]:
    """Return what a trial has suggested so far, as tags of its row."""
    texts = {name: distribution_to_json(each) for name, each in trial.distributions.items()}
    pairs = {name: (value, texts[name]) for name, value in trial.params.items()}
    return {SPACE: json.dumps(pairs), f"params.{VALUES}": json.dumps(trial.params)}
