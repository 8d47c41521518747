"""Which setting of a loader is timed next, and what the times show.

The settings take turns in one process. Those of a round are next to each other in time, so a
machine that slows down slows all of them, and each is compared with the script's own within its
round.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from statistics import mean, stdev
from typing import Any, Final, NamedTuple

from orchestrator.judge.sequential import LEAST, MOST, Verdict, judged

ROUNDS: Final = 3
"""Rounds after which a setting may be dropped, and after which settings are refined."""
PREFETCH: Final = 2
"""torch's ``prefetch_factor``."""
_MARGIN: Final = math.log(1.02)
"""Gain below which the cheaper of two settings is preferred."""
_LAGS: Final = math.log(1.15)
"""Lag behind the fastest with which a setting is dropped after its first two rounds."""
WITHIN: Final = 0.02
"""Change of the speed that counts as none."""


@dataclass(frozen=True, kw_only=True)
class Setting:
    """Arguments of a ``DataLoader``, the cheaper ones first.

    Attributes:
        num_workers: Its processes.
        prefetch_factor: Batches that each of them loads ahead; None for torch's own number.
        persistent_workers: True if they outlast an epoch.
        pin_memory: True if batches are copied to pinned memory.
        batch_size: Another batch size; None for the script's.
        amp: True if steps run under autocast to bfloat16.
    """

    num_workers: int
    prefetch_factor: int | None = None
    persistent_workers: bool = False
    pin_memory: bool = False
    batch_size: int | None = None
    amp: bool = False

    def __str__(self) -> str:
        return self.shown(Setting(num_workers=-1))

    @property
    def cost(self) -> tuple[int, int, bool]:
        """Return what decides between settings that are equally fast."""
        return self.num_workers, self.ahead, self.pin_memory

    @property
    def ahead(self) -> int:
        """Return how many batches it may have loaded ahead."""
        return self.num_workers * (self.prefetch_factor or PREFETCH)

    def changes(self, own: "Setting") -> dict[str, Any]:
        """Return the arguments that differ from the script's own."""
        values = {each.name: getattr(self, each.name) for each in fields(self)}
        return {name: value for name, value in values.items() if value != getattr(own, name)}

    def shown(self, own: "Setting") -> str:
        """Return the arguments that differ, as they are written."""
        changes = self.changes(own)
        return ", ".join(f"{name}={value!r}" for name, value in changes.items()) or "as it is"


class Site(NamedTuple):
    """Call in the user's code that makes a loader.

    Attributes:
        file: Its file.
        line: Its line.
        column: Its column in bytes.
        framework: Package in between, or empty.
    """

    file: str
    line: int
    column: int
    framework: str


@dataclass(frozen=True, kw_only=True)
class Slice:
    """Steps in a row with one setting.

    Attributes:
        setting: The setting.
        samples_per_s: Speed of the script.
        wait_share: Share of the time in which it waited for the loader.
    """

    setting: Setting
    samples_per_s: float
    wait_share: float


@dataclass(kw_only=True)
class Work:
    """What a process of the script does, and what it has found.

    Attributes:
        plan: Settings and their slices so far; None: the first process makes an ``Explore``.
        checked: Setting whose first batches are wanted in place of slices.
        loader: Number of the training loop's loader, among those that the script takes with
            gradients on; None: the first that optimizer steps follow.
        began_s: Start of the process, monotonic.
        until_s: Time of the last slice, monotonic.
        slice_s: Least time of a slice.
        num_cores: Cores of the script.
        batch_sizes: Batch sizes to try.
        amp: True to try autocast.
        sites: Found: where the loaders are made, by number; None where that is not known.
        batches: Found: batches of an epoch.
        batch_size: Found: the script's batch size.
        turn: Found: setting whose turn it was at the end; None once the plan was at its end.
        learned: Found: first batches: their samples, their content, their losses.
        error: Found: failure of the script.
    """

    plan: "Explore | Confirm | None" = None
    checked: Setting | None = None
    loader: int | None = None
    began_s: float
    until_s: float
    slice_s: float
    num_cores: int
    batch_sizes: Sequence[int] = ()
    amp: bool = False
    sites: Sequence[Site | None] = ()
    batches: int = 0
    batch_size: int | None = None
    turn: Setting | None = None
    learned: Sequence[list[Any]] = field(default_factory=lambda: [[], [], []])
    error: str = "it ended at once"


class Explore:
    """Rounds of all settings that may be the fastest; then of the fastest one's variants.

    Args:
        own: The script's setting.
        work: Its cores, batch sizes and autocast.
        cuda: True if batches may be copied to a GPU.

    Attributes:
        whole_epochs: True if slices are whole epochs, so that the start of workers counts.
        failed: Settings that do not run, with their reason.
    """

    least: Final = 2
    """Rounds for which the time never runs out."""

    def __init__(self, own: Setting, work: Work, *, cuda: bool) -> None:
        self.own, self._cuda, self.whole_epochs = own, cuda, False
        numbers = {own.num_workers, 0, *(2**i for i in range(7) if 2**i <= 2 * work.num_cores)}
        others = [replace(own, batch_size=size) for size in work.batch_sizes]
        others += [replace(own, amp=True)] if work.amp else []
        self.alive = list(dict.fromkeys([own, *map(self._with_workers, sorted(numbers)), *others]))
        self._rounds: list[dict[Setting, Slice]] = []
        self.failed: dict[Setting, str] = {}
        self._waiting: list[Setting] = []
        self._refined = False

    @property
    def slices(self) -> list[Slice]:
        """Return the slices in their order."""
        return [each for its in self._rounds for each in its.values()]

    def ask(self) -> Setting | None:
        """Return the setting to time next, or None at the end."""
        if not self._waiting:
            self._drop()
            if self.rounds >= ROUNDS:
                waits = self.whole_epochs or wait_share(self.slices, self.best()) >= 0.01
                if self._refined or not waits:  # no variant of it can be faster
                    return None
                self._refine()
            self._waiting = self.alive[:: 1 if len(self._rounds) % 2 == 0 else -1]
            self._rounds.append({})
        return self._waiting[0]

    def tell(self, slice_: Slice) -> None:
        """Take the slice of the setting that was asked for."""
        self._rounds[-1][self._waiting.pop(0)] = slice_

    def fail(self, reason: str) -> None:
        """Drop the setting that was asked for: it does not run."""
        self.failed[setting := self._waiting.pop(0)] = reason
        self.alive.remove(setting)

    @property
    def rounds(self) -> int:
        """Return the number of rounds in which every setting was timed."""
        return min(sum(each in its for its in self._rounds) for each in self.alive)

    @property
    def gains(self) -> dict[Setting, float]:
        """Return the mean logarithm of each setting's speed over the script's own."""
        tried = dict.fromkeys(setting for its in self._rounds for setting in its)
        return {each: mean(logs) for each in tried if (logs := self._logs(each))}

    def best(self) -> Setting:
        """Return the fastest; the script's own, or a cheaper one, that is as fast."""
        gains = {each: gain for each, gain in self.gains.items() if each in self.alive}
        top = max(gains.values(), default=0.0)
        near = [each for each, gain in gains.items() if gain >= top - _MARGIN]
        return self.own if self.own in near or not near else min(near, key=lambda each: each.cost)

    def _with_workers(self, number: int) -> Setting:
        if number == self.own.num_workers:
            return self.own
        return replace(
            self.own,
            num_workers=number,
            prefetch_factor=self.own.prefetch_factor if number else None,
            persistent_workers=number > 0,
        )

    def _logs(self, setting: Setting) -> list[float]:
        """Return the logarithms of its speed over the script's own, of the rounds with both."""
        both = [each for each in self._rounds if setting in each and self.own in each]
        return [math.log(its[setting].samples_per_s / its[self.own].samples_per_s) for its in both]

    def _drop(self) -> None:
        """Drop settings that cannot be the fastest any more."""
        logs = {each: self._logs(each) for each in self.alive}
        top = max((mean(each) for each in logs.values() if each), default=0.0)
        for setting, its in logs.items():
            if setting == self.own or len(its) < 2:
                continue
            error = stdev(its) / math.sqrt(len(its))
            lag = _LAGS if len(its) < ROUNDS else 0.0
            if mean(its) + 2 * error < top - lag:
                self.alive.remove(setting)

    def _refine(self) -> None:
        """Go on with the fastest and its variants."""
        self._refined, best = True, self.best()
        variants = [best]
        if best.num_workers:
            factor = 2 * (best.prefetch_factor or PREFETCH)
            variants.append(replace(best, prefetch_factor=factor))
            if self.whole_epochs:
                variants.append(replace(best, persistent_workers=not best.persistent_workers))
        if self._cuda:
            variants.append(replace(best, pin_memory=not best.pin_memory))
        self.alive = list(dict.fromkeys([self.own, *variants]))


class Confirm:
    """Pairs of the script's own setting and another one, in turn, until they decide.

    Args:
        own: The script's setting.
        other: The other one.
    """

    least: Final = LEAST
    """Pairs for which the time never runs out."""

    def __init__(self, own: Setting, other: Setting) -> None:
        self.whole_epochs = False
        self.own, self._other = own, other
        self.slices: list[Slice] = []
        self.failed: dict[Setting, str] = {}

    @property
    def rounds(self) -> int:
        """Return the number of pairs."""
        return len(self.slices) // 2

    def ask(self) -> Setting | None:
        """Return the setting to time next, or None once the pairs decide."""
        number = len(self.slices)
        if self.failed or (number % 2 == 0 and judged(self.logs, WITHIN) is not None):
            return None
        return self.own if number % 4 in (0, 3) else self._other

    def tell(self, slice_: Slice) -> None:
        """Take the slice of the setting that was asked for."""
        self.slices.append(slice_)

    def fail(self, reason: str) -> None:
        """End it: the setting does not run."""
        self.failed[self._other] = reason

    @property
    def logs(self) -> list[float]:
        """Logarithm of each pair's ratio, above 0 where the other one is faster."""
        pairs = zip(self.slices[::2], self.slices[1::2], strict=False)
        signed = ((1 if pair[1].setting == self._other else -1, pair) for pair in pairs)
        return [s * math.log(b.samples_per_s / a.samples_per_s) for s, (a, b) in signed]

    def verdict(self) -> Verdict | None:
        """Return the verdict on the pairs; None where there are fewer than two."""
        logs = self.logs
        return judged(logs, WITHIN, min(len(logs), MOST)) if len(logs) > 1 else None


def wait_share(slices: Sequence[Slice], setting: Setting) -> float:
    """Return the mean share of the time in which a setting's slices waited for the loader."""
    return mean(each.wait_share for each in slices if each.setting == setting)
