"""One trial of a function or class written for Ray Tune.

Ray is imported by name and only within a trial, so that everything else works without it.
"""

from __future__ import annotations

import importlib
import inspect
import os
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from numbers import Number
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from orchestrator.execution.ray.functions.param_space import TrainingOnSpace
from orchestrator.execution.ray.functions.session import Session, Stop, filled_names
from orchestrator.metrics import Objective
from orchestrator.texts import bounded

if TYPE_CHECKING:
    from orchestrator.measurement.run import Run

_REMOVED: Final = (
    "files that a trial writes under relative names are removed with it (its output names them): "
    "report them as a checkpoint, or give absolute names, with the id of "
    "tune.get_context().get_trial_id() say"
)


@dataclass(kw_only=True, eq=False)
class RayTraining(TrainingOnSpace):
    """Call of a function or class written for Ray Tune, within a session that reports to a run.

    Its attributes are the arguments of ``from_ray``; without data ``data_key`` is empty.
    """

    function: Callable[..., Any]
    name: str
    defaults: Mapping[str, Any]
    reports: Sequence[Objective]
    stop: Stop
    data_key: str
    keeps_checkpoints: bool

    def __post_init__(self) -> None:
        super().__init__(self.name, self.defaults)
        self.__wrapped__ = own_function(self.function)
        self.__module__ = self.__wrapped__.__module__ or "builtins"

    def __call__(self, config: Any, run: Run) -> None:  # noqa: ANN401 - of a class made here
        """Train one trial to its end."""
        dictionary = self.dictionary(config)
        if self.data_key:
            dictionary[self.data_key] = str(run.data.path)
        # A trial has no Ray: an object or a task would start one.
        hook: Any = importlib.import_module("ray._private.auto_init_hook")
        hook.enable_auto_connect = False
        # Every name under which a function may have imported report() looks here (Ray 2.60).
        ray_session: Any = importlib.import_module("ray.train._internal.session")
        with _own_folder(run):
            folder = run.checkpoint_dir or run.folder
            asked = filled_names().intersection(objective.metric for objective in self.reports)
            session = Session(
                run=run, folder=folder, experiment_name=self.name, stop=self.stop, asked=asked,
                config=dictionary,
            )  # fmt: skip
            ray_session._session = session
            try:
                self._train(dictionary, session)
            except SystemExit as end:
                if end.code != 0:
                    raise
            finally:
                ray_session._session = None

    def _train(self, config: dict[str, Any], session: Session) -> None:
        """Call it; what a function returns or yields is reported, as Ray Tune does it."""
        if isinstance(self.function, type):
            _train_class(self.function, config, session, keeps=self.keeps_checkpoints)
        elif inspect.isgeneratorfunction(self.function):
            for yielded in self.function(config):
                _report_returned(yielded, session)
        else:
            _report_returned(self.function(config), session)


def own_function(function: Any) -> Any:  # noqa: ANN401 - any callable
    """Return the user's own function within ``partial`` and Ray Tune's wrappers."""
    while True:
        inner = getattr(function, "func", None) or getattr(function, "__wrapped__", None)
        if inner is None and (function.__module__ or "").startswith("ray.tune"):
            if isinstance(function, type):  # tune.with_resources and with_parameters derive one
                inner = function.__mro__[1]
            elif inspect.isfunction(function):
                inner = inspect.getclosurevars(function).nonlocals.get("trainable")
        if not callable(inner):
            return function
        function = inner


def _report_returned(value: Any, session: Session) -> None:  # noqa: ANN401 - what a user returns
    """Report what a function returned or yielded.

    Raises:
        ValueError: It is neither a dictionary nor a number, nor empty.
    """
    if not value:
        return
    if isinstance(value, dict):
        session.report(value)
    elif isinstance(value, Number):
        session.report({"_metric": value})
    else:
        kind = type(value).__name__
        raise ValueError(f"it returned or yielded a {kind}: return a dictionary or one number")


def _train_class(made: type, config: dict[str, Any], session: Session, *, keeps: bool) -> None:
    """Train a class derived from Ray Tune's ``Trainable`` step by step, until ``stop`` is reached.

    Raises:
        SystemExit: The training has ended.
    """
    # Its results are in the trial's folder, not in one below the home folder.
    own = {"_setup_logdir": _set_folder, "__module__": made.__module__}
    trainable: Any = type(made.__name__, (made,), own)({**config, "__trial_info__": session})
    try:
        if (checkpoint := session.loaded_checkpoint) is not None:
            trainable.restore(checkpoint)
            trainable._iteration = session.num_reports
            trainable._time_total = session.restored_s
        while True:
            result = trainable.train()
            if not (keeps or result.get("should_checkpoint")):
                session.record(result)
                continue
            with tempfile.TemporaryDirectory() as folder:
                session.record(result, trainable.save(folder).checkpoint)
    finally:
        try:
            trainable.stop()
        except Exception:  # noqa: BLE001 - as under Ray Tune: all has been reported
            traceback.print_exc()


def _set_folder(trainable: Any) -> None:  # noqa: ANN401 - of any such class
    trainable._logdir = str(Path.cwd())


@contextmanager
def _own_folder(run: Run) -> Iterator[None]:
    """Work in a new folder, as under Ray Tune: parallel functions share no file.

    A note names the files that are left in it.
    """
    before = Path.cwd()
    os.environ.setdefault("TUNE_ORIG_WORKING_DIR", str(before))
    with tempfile.TemporaryDirectory(prefix="work-", dir=run.checkpoint_dir) as work:
        if os.environ.get("RAY_CHDIR_TO_TRIAL_DIR", "1") != "0":
            os.chdir(work)
        try:
            yield
        finally:
            os.chdir(before)
            if files := sorted(str(each.relative_to(work)) for each in Path(work).rglob("*")):
                sys.stderr.write(f"removed with the trial: {bounded(', '.join(files))}\n")
                run.notes.append(_REMOVED)
