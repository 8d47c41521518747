"""Session that ``tune.report`` and its siblings find, in a process that Ray has not started.

The names of its attributes are Ray's own (2.60).
"""

from __future__ import annotations

import importlib
import shutil
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from orchestrator.execution.ray.functions.figures import figures_of, refuse_tensors
from orchestrator.execution.ray.functions.filled import FilledIn
from orchestrator.execution.ray.functions.stopping import Stop, ends_with

if TYPE_CHECKING:
    from orchestrator.measurement.run import Run


class Session:
    """The session that a function under Ray Tune asks and reports to.

    Args:
        run: The trial's run.
        folder: Folder of its checkpoints.
        name: The trainable's name.
        stop: When a training ends, as of Ray Tune's ``RunConfig``.
        asked: Names of what Ray Tune fills in that the sweep asks for.
        config: The trial's config, as the function gets it.
    """

    world_rank = local_rank = node_rank = local_world_size = world_size = None
    metadata = dataset_shard = run_id = storage = accelerator = None

    def __init__(
        self,
        run: Run,
        folder: Path,
        name: str,
        stop: Stop,
        asked: Collection[str] = (),
        config: Mapping[Any, Any] | None = None,
    ) -> None:
        self._run, self._folder, self._stop, self._asked = run, folder, stop, asked
        self.num_reports = 0
        self.restored_s = 0.0
        self.trial_id = getattr(run, "trial_id", "") or "trial"
        self._filled_in = FilledIn(self.trial_id, config or {})
        self.trial_name = f"{name}_{self.trial_id}"
        self.experiment_name = name
        self.trial_dir = str(Path.cwd())

    @property
    def trial_resources(self) -> Any:  # noqa: ANN401 - Ray's own class
        """Cores and GPUs of the trial, as Ray Tune says it."""
        device = getattr(self._run, "device", None)
        gpus = {"GPU": 1.0} if getattr(device, "type", "cpu") == "cuda" else {}
        bundle = {"CPU": float(getattr(self._run, "num_cores", 1)), **gpus}
        return importlib.import_module("ray.tune").PlacementGroupFactory([bundle])

    def report(self, metrics: Mapping[str, Any], checkpoint: Any = None) -> None:  # noqa: ANN401
        """Pass numbers on; keep a checkpoint's folder where the trial keeps its own.

        Raises:
            TrialStopped: The trial pauses here.
            SystemExit: The training ends here: it is done, or as good as was asked for.
        """
        refuse_tensors(metrics)
        copied = metrics.copy()  # type: ignore[attr-defined] # Ray takes what has it alone
        self.record(self._filled_in.to(copied), checkpoint)

    def record(self, result: dict[str, Any], checkpoint: Any = None) -> None:  # noqa: ANN401
        """Pass on a report with what Ray Tune fills in.

        Raises:
            TrialStopped: The trial pauses here.
            SystemExit: The training ends here.
        """
        figures = figures_of(result, self._asked)
        self.num_reports += 1
        if checkpoint is not None:
            self._save(checkpoint)
        self._run.count_epoch()
        self._run.report(**figures)
        if self._run.pause_reason:
            # Not at the top: it imports torch.
            from orchestrator.measurement.context import TrialStopped

            raise TrialStopped
        if ends_with(result, self._stop, self.trial_id):
            raise SystemExit(0)

    @property
    def loaded_checkpoint(self) -> Any:  # noqa: ANN401 - Ray's own class
        """Last checkpoint of this trial, or None."""
        checkpoints = self._checkpoints()
        if not checkpoints:
            return None
        last = max(checkpoints)
        if not self.num_reports:  # of an earlier attempt
            self.num_reports, self.restored_s = last, _elapsed_s(checkpoints[last])
            self._run.go_on_from(last, self.restored_s)
            self._filled_in.go_on_after(last, self.restored_s)
        return importlib.import_module("ray.tune").Checkpoint(str(checkpoints[last]))

    def _save(self, checkpoint: Any) -> None:  # noqa: ANN401 - Ray's own class
        """Copy a checkpoint under its report's number, and only then remove the one before."""
        before, unfinished = self._checkpoints(), self._folder / "ray.tmp"
        shutil.rmtree(unfinished, ignore_errors=True)
        checkpoint.to_directory(unfinished)
        finished = self._folder / f"ray-{self.num_reports}"
        _clock_of(finished).write_text(str(getattr(self._run, "elapsed_s", 0.0)))
        unfinished.rename(finished)
        for older in before.values():
            shutil.rmtree(older, ignore_errors=True)
            _clock_of(older).unlink(missing_ok=True)

    def _checkpoints(self) -> dict[int, Path]:
        """Return folders of checkpoints by the number of reports at the time."""
        found = self._folder.glob("ray-*")
        return {int(path.name.removeprefix("ray-")): path for path in found}


def _clock_of(checkpoint: Path) -> Path:
    """Return the file, beside a checkpoint, of the seconds that the training had taken."""
    return checkpoint.with_name(f"clock-of-{checkpoint.name}")


def _elapsed_s(checkpoint: Path) -> float:
    clock = _clock_of(checkpoint)
    return float(clock.read_text()) if clock.exists() else 0.0
