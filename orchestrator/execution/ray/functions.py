"""Ray Tune functions as they are: ``config`` a dict, ``tune.report`` unchanged.

Ray is imported by name and only within a trial, so that everything else, trainables on
their own among it, does without.
"""

from __future__ import annotations

import importlib
import shutil
from collections.abc import Callable, Mapping, Sequence
from numbers import Real
from pathlib import Path
from typing import TYPE_CHECKING, Any

from orchestrator.machine import Machine
from orchestrator.metrics import Objective
from orchestrator.space.configs import values_of
from orchestrator.space.declare import make_config_class
from orchestrator.trainable import Demand, Trainable

if TYPE_CHECKING:
    from orchestrator.measurement.run import Run


def from_ray(
    function: Callable[[dict[str, Any]], None],
    *,
    config: Mapping[str, Any],
    reports: Sequence[Objective] = (),
    gpus: int = 0,
    keeps_checkpoints: bool = False,
    name: str = "",
) -> Trainable[Any]:
    """Make a trainable of an existing Ray Tune function.

    The function runs to its own end, once for each trial, in a process of its own;
    ``tune.report`` and ``tune.get_checkpoint`` work in it. Every key of its config is a
    knob with role ``both``, since nothing more is known of it.

    Args:
        function: Takes Ray Tune's ``config`` dictionary and calls ``tune.report``.
        config: A default for every key that the function reads.
        reports: Metrics that it reports, with their directions.
        gpus: GPUs that it uses.
        keeps_checkpoints: True where it reports a checkpoint each time and goes on from
            ``tune.get_checkpoint()``: its trials can then pause, after so many reports.
        name: Defaults to the function's name.

    Raises:
        TypeError: A default is no bool, int, float or str.
    """
    title = name or function.__name__
    return Trainable(
        _RayFunction(function),
        make_config_class(f"{title}_config", config),
        reports=reports,
        demand=_Demand(gpus),
        preload=("torch", "ray.tune"),
        keeps_checkpoints=keeps_checkpoints,
        name=title,
    )


class _Demand:
    def __init__(self, gpus: int) -> None:
        self._demand = Demand(gpus=gpus)

    def __call__(self, _config: object, _machine: Machine) -> Demand:
        return self._demand


class _RayFunction:
    """Call of a Ray Tune function within a session that reports to a run."""

    def __init__(self, function: Callable[[dict[str, Any]], None]) -> None:
        self._function = function
        self.__module__ = function.__module__
        self.__wrapped__ = function

    def __call__(self, config: object, run: Run) -> None:
        # Every name under which a function may have imported report() asks here (Ray 2.60).
        ray_session: Any = importlib.import_module("ray.train._internal.session")
        ray_session._session = _Session(run)
        try:
            self._function(values_of(config))
        finally:
            ray_session._session = None


class _Session:
    """Session that ``tune.report`` finds, in a process that Ray has not started."""

    world_rank = None
    metadata: Mapping[str, Any] = {}
    storage = None
    trial_resources = None

    def __init__(self, run: Run) -> None:
        self._run = run
        self._num_reports = 0
        self.trial_id = self.trial_name = self.experiment_name = "trial"
        self.trial_dir = str(run.checkpoint_dir or Path.cwd())

    def report(self, metrics: Mapping[str, Any], checkpoint: Any = None) -> None:  # noqa: ANN401
        """Pass numbers on; keep a checkpoint's folder where the trial keeps its own."""
        self._num_reports += 1
        if checkpoint is not None:
            self._save(checkpoint)
        self._run.count_epoch()
        self._run.report(**_numbers(metrics))
        if self._run.pause_reason:
            # Not at the top: it imports torch.
            from orchestrator.measurement.context import TrialStopped

            raise TrialStopped

    @property
    def loaded_checkpoint(self) -> Any:  # noqa: ANN401 - Ray's own class
        """Last checkpoint of an earlier attempt at this trial, or None."""
        checkpoints = self._checkpoints()
        if not checkpoints:
            return None
        last = max(checkpoints)
        if not self._num_reports:
            self._run.go_on_from(last, _elapsed_s(checkpoints[last]))
            self._num_reports = last
        return importlib.import_module("ray.tune").Checkpoint(str(checkpoints[last]))

    def _save(self, checkpoint: Any) -> None:  # noqa: ANN401 - Ray's own class
        """Copy a checkpoint under its report's number, and only then remove the one before."""
        folder = self._run.checkpoint_dir
        if folder is None:
            return
        before, unfinished = self._checkpoints(), folder / "ray.tmp"
        shutil.rmtree(unfinished, ignore_errors=True)
        checkpoint.to_directory(unfinished)
        finished = folder / f"ray-{self._num_reports}"
        _clock_of(finished).write_text(str(self._run.elapsed_s))
        unfinished.rename(finished)
        for older in before.values():
            shutil.rmtree(older, ignore_errors=True)
            _clock_of(older).unlink(missing_ok=True)

    def _checkpoints(self) -> dict[int, Path]:
        """Return folders of checkpoints by the number of reports at the time."""
        folder = self._run.checkpoint_dir
        found = [] if folder is None else folder.glob("ray-*")
        return {int(path.name.removeprefix("ray-")): path for path in found}


def _clock_of(checkpoint: Path) -> Path:
    """Return the file, beside a checkpoint, of the seconds that the training had taken."""
    return checkpoint.with_name(f"clock-of-{checkpoint.name}")


def _elapsed_s(checkpoint: Path) -> float:
    clock = _clock_of(checkpoint)
    return float(clock.read_text()) if clock.exists() else 0.0


def _numbers(metrics: Mapping[str, Any]) -> dict[str, float]:
    return {k: float(v) for k, v in metrics.items() if isinstance(v, Real)}
