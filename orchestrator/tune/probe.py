"""A training script as ``__main__``, whose loader's settings take turns while it trains.

The first loader that optimizer steps follow is the one of the training loop. From there on each
batch comes from a loader of the setting whose turn it is. All of them draw from the one order of
samples that the script's own loader has. A slice of steps begins once the batches that a loader
had ahead are used up; a short epoch is a slice as a whole.
"""

import hashlib
import os
import pickle
import random
import runpy
import sys
import time
import traceback
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, NoReturn
from weakref import ref

import torch
from torch.optim.optimizer import register_optimizer_step_post_hook
from torch.utils.data import BatchSampler, DataLoader, IterableDataset

from orchestrator.tune.loaders import (
    Feed,
    length_of,
    loader_of,
    owns_of,
    plain_iter,
    setting_of,
    site_of,
)
from orchestrator.tune.plan import PREFETCH, Confirm, Explore, Setting, Slice, Work
from orchestrator.tune.slices import LEAST_STEPS, Timer, autocast

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
        self._shortest = 2 * (LEAST_STEPS + 2 + 2 * PREFETCH * work.num_cores)
        self._whole_epochs = False
        self._timer: Timer | None = None

    def iterate(self, loader: DataLoader[Any]) -> Iterator[Any]:
        """Return a pass over a loader of the script."""
        if torch.is_grad_enabled() and self.work.loader in (None, number := self._number(loader)):
            return self._pass(loader, number)
        return plain_iter(loader)

    def _number(self, loader: DataLoader[Any]) -> int:
        """Return a loader's number; one that is made anew has that of the one before it."""
        mine = vars(loader)
        if "_tune_number" not in mine:
            key = mine.get("_tune_site"), length_of(loader), loader.batch_size
            known = enumerate(self._loaders)
            gone = (at for at, (other, old) in known if other == key and old() is None)
            number = mine["_tune_number"] = next(gone, len(self._loaders))
            self._loaders[number : number + 1] = [(key, ref(loader))]
        return int(mine["_tune_number"])

    def _pass(self, loader: DataLoader[Any], number: int) -> Iterator[Any]:
        """Yield batches of one setting after another, once it is the training loop's loader."""
        work, own, sized = self.work, setting_of(loader), self._sized(loader)
        order = iter(loader._index_sampler if sized is None else sized.sampler)
        passes: dict[Setting, tuple[Iterator[Any], Feed]] = {}
        began, count = time.perf_counter(), 0
        if self._whole_epochs:
            self._timer = self._timer or Timer(0)
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
                    owns_of(loader).pop(setting, None)
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
    ) -> tuple[Iterator[Any], Feed]:
        """Begin a setting's part of a pass; its loader is made at its first use."""
        if isinstance(loader.dataset, IterableDataset):
            return plain_iter(loader), Feed()
        owns, sized = owns_of(loader), self._sized(loader)
        if setting not in owns:
            feed = Feed()
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
        work.batches, work.batch_size = length_of(loader), getattr(batches, "batch_size", None)
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
        owns_of(loader).clear()

    def _step_ended(self) -> None:
        turn = self.work.turn
        assert turn is not None
        if self._timer is None:
            self._timer = Timer(turn.ahead + 2)
        if self._timer.is_over(max(turn.num_workers, 1), self.work.slice_s):
            self._tell()

    def _epoch_ended(self, loader: DataLoader[Any], steps: int, seconds: float) -> None:
        if not self._whole_epochs:
            self._timer = None  # the next epoch begins with the start of its loaders
            if not self._plan.slices:  # the script may leave its epochs early
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
        autocast(work.turn.amp)

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


def main(file: str, script: str, *arguments: str) -> None:
    """Run the script with its arguments; ``file`` has the work, and gets the results."""
    path = Path(file)
    work: Work = pickle.loads(path.read_bytes())
    probe = Probe(work, path)
    work.error = ""

    plain_init = DataLoader.__init__

    def init(self: DataLoader[Any], *args: Any, **more: Any) -> None:  # noqa: ANN401
        plain_init(self, *args, **more)
        if not hasattr(self, "_tune_site"):
            vars(self)["_tune_site"] = site_of(sys._getframe(1))

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
