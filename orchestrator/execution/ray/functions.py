"""Ray Tune functions as they are: ``config`` a dict, ``tune.report`` unchanged.

Ray is imported by name and only within a trial, so that everything else, trainables on
their own among it, does without.
"""

from __future__ import annotations

import importlib
import inspect
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
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
        gpus: GPUs that it uses. Default: those that ``tune.with_resources`` gave it.
        keeps_checkpoints: True where it reports a checkpoint each time and goes on from
            ``tune.get_checkpoint()``: its trials can then pause, after so many reports.
        name: Defaults to the function's name.

    Raises:
        TypeError: It is a class, a default is no bool, int, float or str, or it was given a part
            of a GPU.
    """
    if isinstance(function, type):
        raise TypeError(
            f"from_ray takes a function, and {function.__name__} is a class: give a function that "
            "makes one, trains it and calls tune.report"
        )
    inner = _without_arguments(function)
    title = name or getattr(inner, "__name__", type(inner).__name__)
    return Trainable(
        _RayFunction(function),
        make_config_class(f"{title}_config", config),
        reports=reports,
        demand=_Demand(gpus or _gpus_of(function)),
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
        self.__module__ = _without_arguments(function).__module__
        self.__wrapped__ = function

    def __call__(self, config: object, run: Run) -> None:
        # Every name under which a function may have imported report() asks here (Ray 2.60).
        ray_session: Any = importlib.import_module("ray.train._internal.session")
        session = ray_session._session = _Session(run)
        try:
            with _folder_of_its_own(run.checkpoint_dir):
                self._run(values_of(config), session)
        except StopIteration:
            pass
        except SystemExit as end:
            if end.code != 0:
                raise
        finally:
            ray_session._session = None

    def _run(self, config: dict[str, Any], session: _Session) -> None:
        """Call the function; what it returns or yields is reported, as Ray Tune does it."""
        returned: Any = self._function(config)
        if inspect.isgenerator(returned):
            for yielded in returned:
                _report_returned(yielded, session)
        else:
            _report_returned(returned, session)


def _report_returned(value: Any, session: _Session) -> None:  # noqa: ANN401 - what a user returns
    """Report what a function returned or yielded.

    Raises:
        ValueError: It is neither a dictionary nor a number, nor empty.
    """
    if isinstance(value, Mapping) and value:
        session.report(value)
    elif isinstance(value, Real) and value:
        session.report({"_metric": value})
    elif value:
        kind = type(value).__name__
        raise ValueError(f"it returned or yielded a {kind}: return a dictionary or one number")


@contextmanager
def _folder_of_its_own(parent: Path | None) -> Iterator[None]:
    """Work in a new folder, as under Ray Tune: functions beside each other share no file."""
    before = Path.cwd()
    os.environ["TUNE_ORIG_WORKING_DIR"] = str(before)
    if parent is not None:
        parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="work-", dir=parent) as folder:
        os.chdir(folder)
        try:
            yield
        finally:
            os.chdir(before)


def _without_arguments(function: Any) -> Any:  # noqa: ANN401 - any callable
    """Return the function within ``functools.partial`` and ``tune.with_parameters``."""
    while (inner := getattr(function, "func", None) or getattr(function, "__wrapped__", None)) and (
        callable(inner)
    ):
        function = inner
    return function


def _gpus_of(function: object) -> int:
    """Return the GPUs that ``tune.with_resources`` gave a function.

    Raises:
        TypeError: They are a part of one: a trial has whole GPUs.
    """
    resources = getattr(function, "_resources", None)
    asked = resources.get("gpu", 0) if isinstance(resources, Mapping) else 0
    if resources is not None and not isinstance(resources, Mapping):
        asked = getattr(resources, "required_resources", {}).get("GPU", 0)
    if asked != int(asked):
        raise TypeError(f"tune.with_resources gave it {asked:g} GPUs: give whole ones")
    return int(asked)


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


def _numbers(metrics: Mapping[str, Any], prefix: str = "") -> dict[str, float]:
    """Return the numbers of a report, nested ones as ``outer/inner``, as Ray Tune names them."""
    numbers: dict[str, float] = {}
    for key, value in metrics.items():
        name = f"{prefix}{key}"
        if isinstance(value, Mapping):
            numbers |= _numbers(value, f"{name}/")
            continue
        if getattr(value, "shape", None) == ():  # of a tensor or an array that holds one number
            value = value.item()
        if isinstance(value, Real):
            numbers[name] = float(value)
    return numbers
