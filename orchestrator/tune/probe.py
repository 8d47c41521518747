"""A training script as ``__main__``, whose loader's settings take turns while it trains.

The first loader that optimizer steps follow is the one of the training loop. From there on each
batch comes from a loader of the setting whose turn it is. All of them draw from the one order of
samples that the script's own loader has. A slice of steps begins once the batches that a loader
had ahead are used up; a short epoch is a slice as a whole.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import random
import runpy
import sys
import time
import traceback
from collections import deque
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from types import FrameType
from typing import Any, Final, NoReturn

import torch
from torch.optim.optimizer import register_optimizer_step_post_hook
from torch.utils.data import DataLoader, IterableDataset

from orchestrator.tune.plan import (
    PREFETCH,
    Confirm,
    Explore,
    Found,
    Setting,
    Site,
    Slice,
    Task,
)

_LEAST_STEPS: Final = 8
_KNOWN_AFTER: Final = 3
"""Optimizer steps after which a loader is the training loop's."""
CHECKED: Final = 8
"""Batches that are compared between two settings."""

_plain_iter: Final = DataLoader.__iter__
_plain_init: Final = DataLoader.__init__


class _Feed:
    """Batches of indices for one setting's loader, from the order that all of them share."""

    def __init__(self, size: int | None) -> None:
        self._size = size  # where the order is one of samples
        self.order: Iterator[Any] = iter(())
        self.sizes = deque[int]()

    def __iter__(self) -> Iterator[Any]:
        order, self.sizes = self.order, deque()
        batches = order if self._size is None else iter(lambda: list(islice(order, self._size)), [])
        for indices in batches:
            self.sizes.append(len(indices) if isinstance(indices, list) else 1)
            yield indices


class _Own(DataLoader[Any]):
    """Loader of one setting; its passes are not taken for the script's."""

    __iter__ = _plain_iter


def loader_of(
    loader: DataLoader[Any], setting: Setting, feed: Iterable[Any], *, keep: bool
) -> _Own:
    """Return a loader of the script's data with a setting.

    Args:
        loader: The script's.
        setting: The setting.
        feed: Its batches of indices.
        keep: True if workers outlast an epoch whatever the setting.
    """
    workers = setting.num_workers > 0
    by_batch = {"batch_sampler": feed} if loader._auto_collation else {}
    by_sample = {} if by_batch else {"sampler": feed, "batch_size": None}
    return _Own(
        loader.dataset,
        **by_batch,  # type: ignore[arg-type]
        **by_sample,  # type: ignore[arg-type]
        collate_fn=loader.collate_fn,
        num_workers=setting.num_workers,
        prefetch_factor=setting.prefetch_factor,
        persistent_workers=workers and (keep or setting.persistent_workers),
        pin_memory=setting.pin_memory,
        timeout=loader.timeout if workers else 0,
        worker_init_fn=loader.worker_init_fn,
        multiprocessing_context=loader.multiprocessing_context if workers else None,
        generator=loader.generator,
    )


def setting_of(loader: DataLoader[Any]) -> Setting:
    """Return a loader's own setting."""
    return Setting(
        num_workers=loader.num_workers,
        prefetch_factor=None if loader.prefetch_factor == PREFETCH else loader.prefetch_factor,
        persistent_workers=loader.persistent_workers,
        pin_memory=loader.pin_memory,
    )


class Probe:
    """What a process of the script does with its loaders.

    Args:
        task: What it does.
        file: File that the results are written to.
    """

    def __init__(self, task: Task, file: Path) -> None:
        self.task, self._file = task, file
        self.trained = 0  # optimizer steps
        self.loaders: list[DataLoader[Any]] = []  # taken with gradients on
        self.chosen: DataLoader[Any] | None = None
        self.whole_epochs = False
        self.plan: Explore | Confirm | None = None
        self.turn: Setting | None = None
        self.timer: _Timer | None = None
        self.learned: list[list[Any]] = [[], [], []]  # order, batches, losses
        self._found = Found(learned=self.learned)
        self._own: dict[Setting, tuple[_Own, _Feed]] = {}

    def iterate(self, loader: DataLoader[Any]) -> Iterator[Any]:
        """Return a pass over a loader of the script."""
        if not torch.is_grad_enabled() or self.chosen not in (None, loader):
            return _plain_iter(loader)
        if loader not in self.loaders:
            self.loaders.append(loader)
        wanted = self.task.loader
        if wanted not in (None, self.loaders.index(loader)):
            return _plain_iter(loader)
        if isinstance(loader.dataset, IterableDataset):
            return self._unfit(loader)
        return _Pass(self, loader)

    def own(self, loader: DataLoader[Any], setting: Setting) -> tuple[_Own, _Feed]:
        """Return the loader of a setting, made at its first use."""
        if setting not in self._own:
            feed = _Feed(setting.batch_size or loader.batch_size if self.by_sample else None)
            self._own[setting] = (
                loader_of(loader, setting, feed, keep=not self.whole_epochs), feed,
            )  # fmt: skip
        return self._own[setting]

    @property
    def by_sample(self) -> bool:
        """True if the order is one of samples, since batch sizes differ."""
        return bool(self.task.batch_sizes or any(each.batch_size for each in self.task.settings))

    def begin(self, loader: DataLoader[Any], step_s: float) -> None:
        """Begin with the slices: ``loader`` is the training loop's, its steps take ``step_s``."""
        own, length = setting_of(loader), _length(loader)
        self.chosen = loader
        shortest = 2 * (_LEAST_STEPS + 2 + 2 * PREFETCH * self.task.num_cores)
        self.whole_epochs = length < shortest or length * step_s < 2 * self.task.slice_s
        self._found = Found(
            loader=self.loaders.index(loader),
            sites=[vars(each).get("_tune_site") for each in self.loaders],
            own=own,
            batches=length,
            batch_size=loader.batch_size,
        )
        if self.task.mode == "explore":
            # As much time is left for the process that confirms, which starts as slowly.
            now = time.monotonic()
            rest_s = self.task.budget_s - 2 * (now - self.task.began_s)
            self.task.until_s = now + rest_s * 0.45
            cuda = torch.cuda.is_available()
            self.plan = Explore(own, self.task, cuda=cuda, whole_epochs=self.whole_epochs)
        else:
            self.plan = Confirm(self.task.settings[0], self.task.settings[1])
        for each in self.task.told:
            self.plan.ask()
            self.plan.tell(each)
        self.take_turn()

    def tell(self) -> None:
        """Hand the slice that is over to the plan."""
        assert self.plan is not None
        assert self.timer is not None
        assert self.turn is not None
        self.plan.tell(self.timer.slice_of(self.turn))
        self.take_turn()

    def take_turn(self) -> None:
        """Have the next setting take its turn; end the process after the last one."""
        assert self.plan is not None
        self.timer = None
        late = time.monotonic() > self.task.until_s and self.plan.rounds >= self.plan.least
        self.turn = None if late else self.plan.ask()
        self.write()
        if self.turn is None:
            self.end()
        for setting in self.plan.failed:
            self._own.pop(setting, None)
        _autocast(self.turn.amp)

    def write(self, error: str = "") -> None:
        """Write what is known so far, whole or not at all."""
        plan, found = self.plan, self._found
        found.error, found.turn = error, self.turn
        if plan is not None:
            found.told, found.failed, found.rounds = plan.told, plan.failed, plan.rounds
        if isinstance(plan, Explore) and plan.told:
            found.gains, found.best = plan.gains, plan.best()
        unfinished = self._file.with_suffix(".new")
        unfinished.write_bytes(pickle.dumps(found))
        unfinished.replace(self._file)

    def end(self, error: str = "") -> NoReturn:
        """Write the results and end the process, wherever the script is."""
        self.write(error)
        os._exit(0)

    def _unfit(self, loader: DataLoader[Any]) -> Iterator[Any]:
        before = self.trained
        for batch in _plain_iter(loader):
            if self.trained - before >= _KNOWN_AFTER:
                self.end(
                    "its loader has an IterableDataset, whose own code divides the samples among "
                    "workers: other workers would be other samples"
                )
            yield batch


class _Pass:
    """A pass over the training loop's loader: batches of one setting after another."""

    def __init__(self, probe: Probe, loader: DataLoader[Any]) -> None:
        self._probe, self._loader = probe, loader
        self._order = iter(loader.sampler if probe.by_sample else _indices(loader))
        self._began, self._first = time.perf_counter(), probe.trained
        self._iterators: dict[Setting, Iterator[Any]] = {}
        self._num = 0  # batches handed out in this pass
        if probe.whole_epochs and probe.chosen is loader:
            probe.timer = probe.timer or _Timer(0, probe.task.slice_s)
            probe.timer.start()

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:  # noqa: ANN401 - a batch
        probe = self._probe
        if probe.task.mode == "check":
            return self._checked()
        self._step_ended()
        setting = probe.turn or setting_of(self._loader)
        _, feed = probe.own(self._loader, setting)
        began = time.perf_counter()
        try:
            batch = next(self._iterator(setting))
        except StopIteration:
            self._epoch_ended()
            raise
        except Exception as error:
            if probe.plan is None or setting == setting_of(self._loader):
                raise
            probe.plan.fail(f"{type(error).__name__}: {error}".partition("\n")[0])
            probe.take_turn()
            return next(self)
        self._num += 1
        samples = feed.sizes.popleft()
        if probe.timer is not None:
            probe.timer.handed_out(samples, time.perf_counter() - began)
        return batch

    def _iterator(self, setting: Setting) -> Iterator[Any]:
        if setting not in self._iterators:
            own, feed = self._probe.own(self._loader, setting)
            feed.order = self._order
            self._iterators[setting] = iter(own)
        return self._iterators[setting]

    def _step_ended(self) -> None:
        """Take the end of a step: of the search for the loop's loader, or of a slice."""
        probe = self._probe
        if probe.chosen is None:
            if probe.trained - self._first >= _KNOWN_AFTER:
                probe.begin(self._loader, (time.perf_counter() - self._began) / self._num)
            return
        if probe.whole_epochs:
            return
        assert probe.turn is not None
        if probe.timer is None:
            probe.timer = _Timer(probe.turn.ahead, probe.task.slice_s)
        if probe.timer.is_over(max(probe.turn.num_workers, 1)):
            probe.tell()

    def _epoch_ended(self) -> None:
        probe = self._probe
        if probe.timer is not None and probe.whole_epochs:
            probe.timer.stop()
            if probe.timer.took >= probe.task.slice_s:
                probe.tell()
        elif probe.chosen is self._loader:
            probe.timer = None  # the next epoch begins with the start of its loaders

    def _checked(self) -> Any:  # noqa: ANN401
        """Return the next batch of the setting to be checked, and keep what it holds."""
        probe = self._probe
        order, batches, losses = probe.learned
        if len(losses) >= CHECKED or (self._num >= CHECKED and probe.trained == self._first):
            probe.end()
        if not self._iterators:
            kept: list[Any] = []
            self._order = _kept(self._order, kept)
            self._kept = kept
        batch = next(self._iterator(probe.task.settings[0]))
        if self._num < CHECKED:
            order.append(_digest(self._kept[self._num]))
            batches.append(_digest(batch))
        self._num += 1
        return batch


class _Timer:
    """Time of a slice: of whole epochs, or of steps once the batches loaded ahead are used up.

    Args:
        ahead: Number of these batches.
        least_s: Least time of it.
    """

    def __init__(self, ahead: int, least_s: float) -> None:
        self._ahead, self._least_s = ahead + 2, least_s
        self._began: float | None = None
        self._samples = self._steps = 0
        self._waited = self.took = 0.0

    def start(self) -> None:
        """Begin, or continue with another epoch."""
        _synchronize()
        self._began = time.perf_counter()

    def stop(self) -> None:
        """Take the end of the slice, or of an epoch."""
        assert self._began is not None
        _synchronize()
        self.took += time.perf_counter() - self._began
        self._began = None

    def handed_out(self, samples: int, waited: float) -> None:
        """Count a batch."""
        if self._began is not None:
            self._samples, self._steps = self._samples + samples, self._steps + 1
            self._waited += waited

    def is_over(self, burst: int) -> bool:
        """Take the end of a step; return True where it was the last one of the slice."""
        if self._began is None:
            self._ahead -= 1
            if self._ahead < 0:
                self.start()
            return False
        if self._steps < _LEAST_STEPS or self._steps % burst:
            return False
        if time.perf_counter() - self._began < self._least_s:
            return False
        self.stop()
        return True

    def slice_of(self, setting: Setting) -> Slice:
        """Return the slice."""
        speed, share = self._samples / self.took, self._waited / self.took
        return Slice(setting=setting, samples_per_s=speed, wait_share=share)


def _indices(loader: DataLoader[Any]) -> Iterable[Any]:
    indices: Iterable[Any] = loader._index_sampler
    return indices


def _length(loader: DataLoader[Any]) -> int:
    try:
        return len(loader)
    except TypeError:  # a sampler without a length: its epochs are long ones
        return 10**9


def _kept(order: Iterable[Any], kept: list[Any]) -> Iterator[Any]:
    for each in order:
        kept.append(each)
        yield each


def _synchronize() -> None:
    if torch.cuda.is_initialized():
        torch.cuda.synchronize()


def _autocast(is_on: bool) -> None:
    """Switch autocast, whose copies of the weights no block ends."""
    device = "cuda" if torch.cuda.is_available() else "cpu"
    torch.set_autocast_enabled(device, is_on)
    if is_on:
        torch.set_autocast_dtype(device, torch.bfloat16)
        torch.set_autocast_cache_enabled(False)


def _digest(value: Any) -> str:  # noqa: ANN401 - a batch of any form
    """Return a hash of the numbers in a batch."""
    found = hashlib.sha256()

    def add(part: Any) -> None:  # noqa: ANN401
        if isinstance(part, torch.Tensor):
            found.update(
                part.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy().data
            )
        elif isinstance(part, dict):
            add([*part.keys(), *part.values()])
        elif isinstance(part, (list, tuple)):
            for each in part:
                add(each)
        else:
            found.update(repr(part).encode())

    add(value)
    return found.hexdigest()[:16]


def _site(frame: FrameType | None) -> Site | None:
    """Return the call in the user's code that makes a loader."""
    framework = ""
    while frame is not None:
        code, package = frame.f_code, str(frame.f_globals.get("__name__", "")).partition(".")[0]
        if package not in ("torch", "orchestrator"):
            if "site-packages" not in code.co_filename:
                line, _, column, _ = list(code.co_positions())[frame.f_lasti // 2]
                return Site(code.co_filename, line or 0, column or 0, framework)
            framework = package
        frame = frame.f_back
    return None


def main(task_file: str, script: str, *arguments: str) -> None:
    """Run the script with its arguments; ``task_file`` has the task, and gets the results."""
    file = Path(task_file)
    probe = Probe(pickle.loads(file.read_bytes()), file)

    def init(self: DataLoader[Any], *args: Any, **more: Any) -> None:  # noqa: ANN401
        _plain_init(self, *args, **more)
        if not hasattr(self, "_tune_site"):
            vars(self)["_tune_site"] = _site(sys._getframe(1))

    def count(*_: Any) -> None:  # noqa: ANN401
        probe.trained += 1

    vars_of: Any = DataLoader
    vars_of.__init__ = init
    vars_of.__iter__ = lambda loader: probe.iterate(loader)
    register_optimizer_step_post_hook(count)
    if probe.task.mode == "check":
        random.seed(0)
        torch.manual_seed(0)
        _keep_losses(probe.learned[2])
    sys.argv = [script, *arguments]
    sys.path.insert(0, str(Path(script).resolve().parent))
    try:
        runpy.run_path(script, run_name="__main__")
    except BaseException as error:  # noqa: BLE001 - whatever ends a script
        traceback.print_exc()
        if not isinstance(error, SystemExit) or error.code not in (None, 0):
            probe.end(f"{type(error).__name__}: {error}")
    probe.end("" if probe.chosen else _NO_LOADER)


_NO_LOADER: Final = "it ended without three optimizer steps on batches of a torch DataLoader"


def _keep_losses(losses: list[Any]) -> None:
    """Keep the value of each loss that is differentiated."""
    tensor: Any = torch.Tensor
    backward = tensor.backward

    def keeping(loss: torch.Tensor, *args: Any, **more: Any) -> None:  # noqa: ANN401
        losses.append(float(loss.detach().float().mean()))
        backward(loss, *args, **more)

    tensor.backward = keeping


if __name__ == "__main__":
    main(*sys.argv[1:])
