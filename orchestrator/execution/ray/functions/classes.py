"""A class of Ray Tune (``setup``, ``step``, ``save_checkpoint``, ``load_checkpoint``), by steps."""

from __future__ import annotations

import importlib
import tempfile
import traceback
from pathlib import Path
from typing import Any, Final

from orchestrator.execution.ray.functions.session import Session

_DICTIONARY: Final = "_dict_checkpoint.pt"


def train_class(made: type, config: dict[str, Any], session: Session, *, keeps: bool) -> None:
    """Train until a step says that it is done, or as good as was asked for.

    Args:
        made: A class derived from Ray Tune's ``Trainable``.
        config: What it is set up with.
        session: Where its steps are reported.
        keeps: True where it is saved after each step.

    Raises:
        SystemExit: The training has ended.
    """
    trainable = _local(made)({**config, "__trial_info__": session})
    try:
        if (checkpoint := session.loaded_checkpoint) is not None:
            with checkpoint.as_directory() as folder:
                trainable.load_checkpoint(_loaded(Path(folder)))
            trainable._iteration = session.num_reports
            trainable._time_total = session.restored_s
        while True:
            result = trainable.train()
            if not (keeps or result.get("should_checkpoint")):
                session.record(result)
                continue
            with tempfile.TemporaryDirectory() as folder:
                _keep(trainable.save_checkpoint(folder), Path(folder))
                ray_tune: Any = importlib.import_module("ray.tune")
                session.record(result, ray_tune.Checkpoint.from_directory(folder))
    finally:
        try:
            trainable.stop()
        except Exception:  # noqa: BLE001 - as under Ray Tune: all has been reported
            traceback.print_exc()


def _local(made: Any) -> Any:  # noqa: ANN401 - any such class
    """Return the class with the trial's folder for its results, which else lie in the home."""

    def own_folder(self: Any) -> None:  # noqa: ANN401 - an instance of it
        self._logdir = str(Path.cwd())

    return type(
        made.__name__, (made,), {"_setup_logdir": own_folder, "__module__": made.__module__}
    )


def _keep(saved: object, folder: Path) -> None:
    """Write what ``save_checkpoint`` returned instead of writing it itself.

    Raises:
        ValueError: It is a dictionary of more than tensors and plain values.
    """
    if not isinstance(saved, dict):
        return
    torch: Any = importlib.import_module("torch")
    path = folder / _DICTIONARY
    torch.save(saved, path)
    try:
        _loaded(folder)
    except Exception as error:
        raise ValueError(
            "save_checkpoint returned more than tensors and plain values: write it into the folder "
            f"that it is given ({error})"
        ) from error


def _loaded(folder: Path) -> Any:  # noqa: ANN401 - a dictionary or a folder
    """Return what ``load_checkpoint`` gets: the dictionary that was returned, or the folder."""
    path = folder / _DICTIONARY
    if not path.exists():
        return str(folder)
    torch: Any = importlib.import_module("torch")
    return torch.load(path, weights_only=True, map_location="cpu")
