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
from collections import Counter, deque
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any, Final, NoReturn
from weakref import ref

import torch
from torch.optim.optimizer import register_optimizer_step_post_hook
from torch.utils.data import BatchSampler, DataLoader, IterableDataset

from orchestrator.tune.plan import PREFETCH, Confirm, Explore, Setting, Site, Slice, Work

_LEAST_STEPS: Final = 8
_KNOWN_AFTER: Final = 3
"""Optimizer steps after which a loader is the training loop's."""
CHECKED: Final = 8
"""Batches that are compared between two settings."""
_NO_LOADER: Final = "it ended without three optimizer steps on batches of a torch DataLoader"
_STREAM: Final = (
    "its loader has an IterableDataset, whose own code divides the samples among workers: other "
    "workers would be other samples"
)
_NO_SIZE: Final = "its loader has no batch size of its own: leave out --batch-size"

_plain_iter: Final = DataLoader.__iter__
_plain_init: Final = DataLoader.__init__


class _Feed:
    """Batches of indices for one setting's loader, from the order that all of them share."""

    def __init__(self) -> None:
        self.order: Iterable[Any] = ()
        self.taken = deque[Any]()

    def __iter__(self) -> Iterator[Any]:
        self.taken = deque()
        for indices in self.order:
            self.taken.append(indices)
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
    names = ["collate_fn", "worker_init_fn", "generator"]
    names += ["timeout", "multiprocessing_context"] if setting.num_workers else []
    more: dict[str, Any] = {name: getattr(loader, name) for name in names}
    by_sample = {"sampler": feed, "batch_size": None}
    return _Own(
        loader.dataset,
        num_workers=setting.num_workers,
        prefetch_factor=setting.prefetch_factor,
        persistent_workers=setting.num_workers > 0 and (keep or setting.persistent_workers),
        pin_memory=setting.pin_memory,
        **more | ({"batch_sampler": feed} if loader._auto_collation else by_sample),
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
        work: What it does, and what it has found so far.
        file: File that the results are written to.
    """

    def __init__(self, work: Work, file: Path) -> None:
        self.work, self._file = work, file
        self.trained = 0  # optimizer steps
        self._loaders: list[tuple[tuple[Any, ...], ref[DataLoader[Any]]]] = []
        self._steps = Counter[int]()  # of each loader
        self._shortest = 2 * (_LEAST_STEPS + 2 + 2 * PREFETCH * work.num_cores)
        self._whole_epochs = False
        self._timer: _Timer | None = None

    def iterate(self, loader: DataLoader[Any]) -> Iterator[Any]:
        """Return a pass over a loader of the script."""
        if torch.is_grad_enabled() and self.work.loader in (None, number := self._number(loader)):
            return self._pass(loader, number)
        return _plain_iter(loader)

    def _number(self, loader: DataLoader[Any]) -> int:
        """Return a loader's number; one that is made anew has that of the one before it."""
        mine = vars(loader)
        if "_tune_number" not in mine:
            key = mine.get("_tune_site"), _length(loader), loader.batch_size
            known = enumerate(self._loaders)
            gone = (at for at, (other, old) in known if other == key and old() is None)
            number = mine["_tune_number"] = next(gone, len(self._loaders))
            self._loaders[number : number + 1] = [(key, ref(loader))]
        return int(mine["_tune_number"])

    def _pass(self, loader: DataLoader[Any], number: int) -> Iterator[Any]:
        """Yield batches of one setting after another, once it is the training loop's loader."""
        work, own, sized = self.work, setting_of(loader), self._sized(loader)
        order = iter(loader._index_sampler if sized is None else sized.sampler)
        passes: dict[Setting, tuple[Iterator[Any], _Feed]] = {}
        began, count = time.perf_counter(), 0
        if self._whole_epochs:
            self._timer = self._timer or _Timer(0)
            self._timer.start()
        try:
            while True:
                is_chosen = work.loader == number
                setting = (is_chosen and (work.checked or work.turn)) or own
                asked = time.perf_counter()
                try:
                    if setting not in passes:
                        passes[setting] = self._begun(loader, setting, order)
                    batch = next(passes[setting][0])
                except StopIteration:
                    return
                except Exception as error:
                    if setting in (own, work.checked):
                        raise
                    self._plan.fail(f"{type(error).__name__}: {error}".partition("\n")[0])
                    _owns(loader).pop(setting, None)
                    self._take_turn()
                    continue
                indices = taken.popleft() if (taken := passes[setting][1].taken) else 0
                if work.checked is not None:
                    self._check(indices, batch)
                elif is_chosen and self._timer is not None:
                    size = len(indices) if isinstance(indices, list) else 1
                    self._timer.handed_out(size, time.perf_counter() - asked)
                before, count = self.trained, count + 1
                yield batch
                self._steps[number] += self.trained - before
                if work.turn is None and work.checked is None:
                    if self._steps[number] >= _KNOWN_AFTER:
                        self._begin(loader, number, (time.perf_counter() - began) / count)
                elif work.turn is not None and work.loader == number and not self._whole_epochs:
                    self._step_ended()
        finally:
            if work.turn is not None and work.loader == number:
                self._epoch_ended(loader, count, time.perf_counter() - began)

    def _sized(self, loader: DataLoader[Any]) -> BatchSampler | None:
        """Return what divides the order of samples into batches, where their sizes differ."""
        batches = loader.batch_sampler
        return batches if self.work.batch_sizes and type(batches) is BatchSampler else None

    def _begun(
        self, loader: DataLoader[Any], setting: Setting, order: Iterator[Any]
    ) -> tuple[Iterator[Any], _Feed]:
        """Begin a setting's part of a pass; its loader is made at its first use."""
        if isinstance(loader.dataset, IterableDataset):
            return _plain_iter(loader), _Feed()
        owns, sized = _owns(loader), self._sized(loader)
        if setting not in owns:
            feed = _Feed()
            owns[setting] = loader_of(loader, setting, feed, keep=not self._whole_epochs), feed
        own, feed = owns[setting]
        feed.order = order
        if sized is not None:
            size = setting.batch_size or sized.batch_size
            feed.order = BatchSampler(order, size, sized.drop_last)
        return iter(own), feed

    # -- slices

    @property
    def _plan(self) -> Explore | Confirm:
        assert self.work.plan is not None
        return self.work.plan

    def _begin(self, loader: DataLoader[Any], number: int, step_s: float) -> None:
        """Begin with the slices: ``loader`` is the training loop's, its steps take ``step_s``."""
        work, batches, own = self.work, loader.batch_sampler, setting_of(loader)
        if isinstance(loader.dataset, IterableDataset):
            self.end(_STREAM)
        work.batches, work.batch_size = _length(loader), getattr(batches, "batch_size", None)
        if work.batch_sizes and work.batch_size is None:
            self.end(_NO_SIZE)
        work.loader, work.sites = number, [key[0] for key, _ in self._loaders]
        if work.plan is None:
            # As much time is left for the process that confirms, which starts as slowly.
            now = time.monotonic()
            work.until_s = now + (work.until_s - now - (now - work.began_s)) / 2
            work.plan = Explore(own, work, cuda=torch.cuda.is_available())
        self._divide(loader, work.batches, work.batches * step_s)
        self._take_turn()

    def _divide(self, loader: DataLoader[Any], steps: int, seconds: float) -> None:
        """Make slices of whole epochs where an epoch is too short for two of them."""
        is_short = steps < self._shortest or seconds < 2 * self.work.slice_s
        self._whole_epochs = self._plan.whole_epochs = is_short
        _owns(loader).clear()

    def _step_ended(self) -> None:
        turn = self.work.turn
        assert turn is not None
        if self._timer is None:
            self._timer = _Timer(turn.ahead + 2)
        if self._timer.is_over(max(turn.num_workers, 1), self.work.slice_s):
            self._tell()

    def _epoch_ended(self, loader: DataLoader[Any], steps: int, seconds: float) -> None:
        if not self._whole_epochs:
            self._timer = None  # the next epoch begins with the start of its loaders
            if not self._plan.told:  # the script may leave its epochs early
                self._divide(loader, steps, seconds)
        elif self._timer is not None:
            self._timer.stop()
            if self._timer.took >= self.work.slice_s:
                self._tell()

    def _tell(self) -> None:
        """Hand the slice that is over to the plan."""
        timer, setting = self._timer, self.work.turn
        assert timer is not None
        assert setting is not None
        speed, share = timer.samples / timer.took, timer.waited / timer.took
        self._plan.tell(Slice(setting=setting, samples_per_s=speed, wait_share=share))
        self._take_turn()

    def _take_turn(self) -> None:
        """Have the next setting take its turn; end the process after the last one."""
        work, plan, self._timer = self.work, self._plan, None
        late = time.monotonic() > work.until_s and plan.rounds >= plan.least
        work.turn = None if late else plan.ask()
        if work.turn is None:
            self.end()
        self._write()
        _autocast(work.turn.amp)

    # -- results

    def _check(self, indices: Any, batch: Any) -> None:  # noqa: ANN401
        """Keep what a batch holds, of the first ones; end the process after them."""
        order, batches, losses = self.work.learned
        if len(losses) >= CHECKED or (len(order) >= CHECKED and not self.trained):
            self.end()
        if len(order) < CHECKED:
            order.append(_digest(indices))
            batches.append(_digest(batch))

    def _write(self) -> None:
        """Write what is known so far, whole or not at all."""
        unfinished = self._file.with_suffix(".new")
        unfinished.write_bytes(pickle.dumps(self.work))
        unfinished.replace(self._file)

    def end(self, error: str = "") -> NoReturn:
        """Write the results and end the process, wherever the script is."""
        self.work.error = error
        self._write()
        os._exit(0)


class _Timer:
    """Time of a slice: of whole epochs, or of steps once the batches loaded ahead are used up.

    Args:
        ahead: Number of steps before it begins.
    """

    def __init__(self, ahead: int) -> None:
        self._ahead = ahead
        self._began: float | None = None
        self._steps = self.samples = 0
        self.waited = self.took = 0.0

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
            self.samples, self._steps = self.samples + samples, self._steps + 1
            self.waited += waited

    def is_over(self, burst: int, least_s: float) -> bool:
        """Take the end of a step; return True where it was the last one of the slice."""
        if self._began is None:
            self._ahead -= 1
            if self._ahead < 0:
                self.start()
            return False
        if self._steps < _LEAST_STEPS or self._steps % burst:
            return False
        if time.perf_counter() - self._began < least_s:
            return False
        self.stop()
        return True


def _owns(loader: DataLoader[Any]) -> dict[Setting, tuple[_Own, _Feed]]:
    """Return the loaders of the settings, which live as long as the script's."""
    owns: dict[Setting, tuple[_Own, _Feed]] = vars(loader).setdefault("_tune_owns", {})
    return owns


def _length(loader: DataLoader[Any]) -> int:
    try:
        return len(loader)
    except TypeError:  # a sampler without a length: its epochs are long ones
        return 10**9


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


def main(file: str, script: str, *arguments: str) -> None:
    """Run the script with its arguments; ``file`` has the work, and gets the results."""
    path = Path(file)
    work: Work = pickle.loads(path.read_bytes())
    probe = Probe(work, path)
    work.error = ""

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
    if work.checked is not None:
        random.seed(0)
        torch.manual_seed(0)
        _keep_losses(work.learned[2])
    sys.argv = [script, *arguments]
    sys.path.insert(0, str(Path(script).resolve().parent))
    try:
        runpy.run_path(script, run_name="__main__")
    except BaseException as error:  # noqa: BLE001 - whatever ends a script
        traceback.print_exc()
        if not isinstance(error, SystemExit) or error.code not in (None, 0):
            probe.end(f"{type(error).__name__}: {error}")
    probe.end("" if work.turn or work.checked else _NO_LOADER)


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
