"""Session that ``tune.report`` and related functions use, in a process that Ray has not started.

The names of its attributes are Ray's own (2.60).
"""

from __future__ import annotations

import importlib
import shutil
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from numbers import Number
from pathlib import Path
from typing import TYPE_CHECKING, Any

from orchestrator.trial import TrialState

if TYPE_CHECKING:
    from orchestrator.measurement.run import Run

Stop = Mapping[str, float] | Callable[[str, dict[str, Any]], bool] | Sequence[Any]
"""End of a training, as in Ray Tune's ``RunConfig(stop=...)``: by metric, the least value that ends
it; a function of the trial's id and the result; or Ray Tune's stoppers."""


def filled_names() -> frozenset[str]:
    """Return the names that Ray Tune fills in or obeys: recorded if a sweep asks for them."""
    names = importlib.import_module("ray.tune.result")
    return frozenset((
        *names.AUTO_RESULT_KEYS, names.RESULT_DUPLICATE, names.DONE, names.SHOULD_CHECKPOINT,
        "trial_id", "experiment_id",
    ))  # fmt: skip


@dataclass(kw_only=True, eq=False)
class Session:
    """The session that a function under Ray Tune reads and reports to.

    Attributes:
        run: The trial's run.
        folder: Folder of its checkpoints.
        experiment_name: The trainable's name.
        stop: End of a training.
        asked: Names of values filled in by Ray Tune that the sweep asks for.
        config: The trial's config, as the function gets it.
        num_reports: Reports so far, including reports before a checkpoint.
        restored_s: Seconds of training before the checkpoint.
    """

    run: Run
    folder: Path
    experiment_name: str
    stop: Stop
    asked: Collection[str]
    config: Mapping[Any, Any]
    num_reports: int = 0
    restored_s: float = 0.0

    world_rank = local_rank = node_rank = local_world_size = world_size = None
    metadata = dataset_shard = run_id = storage = accelerator = None

    def __post_init__(self) -> None:
        self._trained_s, self._num_timesteps = 0.0, 0
        self._reported_at = time.monotonic()
        self.trial_id = self.run.trial_id or "trial"
        self.trial_name = f"{self.experiment_name}_{self.trial_id}"
        self.trial_dir = str(Path.cwd())

    @property
    def trial_resources(self) -> Any:  # noqa: ANN401 - Ray's own class
        """Cores and GPUs of the trial, as a class of Ray Tune."""
        gpus = {"GPU": 1.0} if self.run.device.type == "cuda" else {}
        bundle = {"CPU": float(self.run.num_cores), **gpus}
        return importlib.import_module("ray.tune").PlacementGroupFactory([bundle])

    def report(self, metrics: Mapping[str, Any], checkpoint: Any = None) -> None:  # noqa: ANN401
        """Pass numbers on, as :meth:`record` does, with the values that Ray Tune fills in."""
        self.record(self._filled(metrics), checkpoint)

    def record(self, result: dict[str, Any], checkpoint: Any = None) -> None:  # noqa: ANN401
        """Pass numbers on; keep a checkpoint's folder with the trial's own checkpoints.

        Raises:
            TrialStopped: The trial pauses here.
            SystemExit: The training ends here.
        """
        figures = figures_of(result, self.asked)
        self.num_reports += 1
        if checkpoint is not None:
            self._save(checkpoint)
        self.run.count_epoch()
        self.run.report(**figures)
        if self.run.ending[0] is TrialState.STOPPED:
            # Not at the top: it imports torch.
            from orchestrator.measurement.run import TrialStopped

            raise TrialStopped
        if ends_with(result, self.stop, self.trial_id):
            raise SystemExit(0)

    def _filled(self, metrics: Mapping[str, Any]) -> dict[str, Any]:
        """Return a function's report with the values that a ``stop`` or a sweep may need."""
        now = time.monotonic()
        duration_s, self._reported_at = now - self._reported_at, now
        duration_s = metrics.get("time_this_iter_s", duration_s)
        self._trained_s += duration_s
        self._num_timesteps += metrics.get("timesteps_this_iter", 0)
        return {
            "done": False,
            "training_iteration": self.num_reports + 1,
            "timesteps_total": self._num_timesteps,
            **metrics,
            "trial_id": self.trial_id,
            "config": self.config,
            "time_this_iter_s": duration_s,
            "time_total_s": self.restored_s + self._trained_s,
        }

    @property
    def loaded_checkpoint(self) -> Any:  # noqa: ANN401 - Ray's own class
        """Last checkpoint of this trial, or None."""
        checkpoints = self._checkpoints()
        if not checkpoints:
            return None
        last = max(checkpoints)
        if not self.num_reports:  # of an earlier attempt
            clock = _clock_of(checkpoints[last])
            self.num_reports, self.restored_s = last, float(clock.read_text())
            self.run.go_on_from(last, self.restored_s)
        return importlib.import_module("ray.tune").Checkpoint(str(checkpoints[last]))

    def _save(self, checkpoint: Any) -> None:  # noqa: ANN401 - Ray's own class
        """Copy a checkpoint under its report's number, and only then remove the one before."""
        before, unfinished = self._checkpoints(), self.folder / "ray.tmp"
        shutil.rmtree(unfinished, ignore_errors=True)
        checkpoint.to_directory(unfinished)
        finished = self.folder / f"ray-{self.num_reports}"
        _clock_of(finished).write_text(str(self.run.elapsed_s))
        unfinished.rename(finished)
        for older in before.values():
            shutil.rmtree(older, ignore_errors=True)
            _clock_of(older).unlink(missing_ok=True)

    def _checkpoints(self) -> dict[int, Path]:
        """Return folders of checkpoints by the number of reports at the time."""
        found = self.folder.glob("ray-*")
        return {int(path.name.removeprefix("ray-")): path for path in found}


def _clock_of(checkpoint: Path) -> Path:
    """Return the file, next to a checkpoint, of the seconds that the training had taken."""
    return checkpoint.with_name(f"clock-of-{checkpoint.name}")


def figures_of(metrics: Mapping[Any, Any], asked: Collection[str] = ()) -> dict[str, float]:
    """Return the numbers of a report, nested ones as ``outer/inner``, as Ray Tune names them.

    Args:
        metrics: A report.
        asked: Names of :func:`filled_names` that are recorded too.
    """
    left_out = filled_names().difference(asked)
    own = {key: value for key, value in metrics.items() if key not in left_out}
    return {
        name: float(number)
        for name, value in _flattened(own).items()
        if (number := _number(value)) is not None
    }


def _flattened(metrics: Mapping[Any, Any]) -> dict[str, Any]:
    """Return the values of nested dictionaries by name, as Ray Tune does it."""
    by_text = {str(key): value for key, value in metrics.items()}
    flat: dict[str, Any] = importlib.import_module("ray.tune.utils").flatten_dict(by_text)
    return flat


def _number(value: Any) -> Any:  # noqa: ANN401 - any object
    """Return a value that is one real number, else None."""
    if getattr(value, "shape", None) == ():  # of NumPy or torch
        value = value.item()
    return value if isinstance(value, Number) and not isinstance(value, complex) else None


def ends_with(result: Mapping[str, Any], stop: Stop, trial_id: str = "") -> bool:
    """Return True if the training ends with this report.

    Args:
        result: A report with the values that Ray Tune fills in.
        stop: End of the training.
        trial_id: The trial's id.
    """
    if isinstance(stop, Mapping):
        values = _flattened(result) if stop else result
        reached = any(name in values and values[name] >= value for name, value in stop.items())
        return reached or bool(values.get("done"))
    stoppers = stop if isinstance(stop, Sequence) else [stop]
    # Every stopper is called: one that counts must see every report.
    ended = [each(trial_id, dict(result)) for each in stoppers]
    # A stopper that ends its experiment sees this trial alone.
    ended += [each.stop_all() for each in stoppers if hasattr(each, "stop_all")]
    return any(ended) or bool(result.get("done"))
