"""Loaders of a script: of other settings over the same order of samples, and where one is made."""

from collections import deque
from collections.abc import Iterable, Iterator
from types import FrameType
from typing import Any, Final

from torch.utils.data import DataLoader

from orchestrator.tune.plan import PREFETCH, Setting, Site

plain_iter: Final = DataLoader.__iter__
"""torch's own, which a probe replaces for the script's loaders."""


class Feed:
    """Batches of indices for one setting's loader, from the order that all of them share."""

    def __init__(self) -> None:
        self.order: Iterable[Any] = ()
        self.taken = deque[Any]()

    def __iter__(self) -> Iterator[Any]:
        self.taken = deque()
        for indices in self.order:
            self.taken.append(indices)
            yield indices


class Own(DataLoader[Any]):
    """Loader of one setting; its passes are not taken for the script's."""

    __iter__ = plain_iter


def loader_of(loader: DataLoader[Any], setting: Setting, feed: Iterable[Any], *, keep: bool) -> Own:
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
    return Own(
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


def owns_of(loader: DataLoader[Any]) -> dict[Setting, tuple[Own, Feed]]:
    """Return the loaders of the settings, which live as long as the script's."""
    owns: dict[Setting, tuple[Own, Feed]] = vars(loader).setdefault("_tune_owns", {})
    return owns


def length_of(loader: DataLoader[Any]) -> int:
    """Return a loader's number of batches."""
    try:
        return len(loader)
    except TypeError:  # a sampler without a length: its epochs are long ones
        return 10**9


def site_of(frame: FrameType | None) -> Site | None:
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
