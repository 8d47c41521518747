"""Conditions of the speed of all trials of a run, and the differences between two runs."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Final

from orchestrator.errors import SweepError, nearest
from orchestrator.provenance.environment import TIMED_PACKAGES
from orchestrator.storage.sweep_record import SweepRecord

NOT_RECORDED: Final = "not recorded"

_FIELDS: Final = ("trainable", "data", "data_fingerprint", "cores_per_trial")


@dataclass(frozen=True, kw_only=True)
class Difference:
    """A condition of a speed that is not the same in two runs."""

    key: str
    first: str
    second: str

    def __str__(self) -> str:
        return f"{self.key}: {self.first} and {self.second}"


def environment_of(sweep: SweepRecord) -> dict[str, str]:
    """Return the conditions of all trials of a sweep, by key.

    Versions of packages that run outside a timed step are no condition.
    """
    keys = {name: str(getattr(sweep, name)) for name in _FIELDS if getattr(sweep, name) != ""}
    for name, value in sweep.hardware.items():
        # Total memory varies by a few MiB with the kernel.
        keys[f"hardware.{name}"] = f"{value:.0f}" if isinstance(value, float) else str(value)
    versions = sweep.versions
    return keys | {f"versions.{n}": str(versions[n]) for n in TIMED_PACKAGES if n in versions}


def differences(
    first: SweepRecord, second: SweepRecord, *, across: Collection[str] = ()
) -> list[Difference]:
    """Return where the environments of two sweeps differ, apart from the keys in ``across``."""
    ours, theirs = environment_of(first), environment_of(second)
    return [
        Difference(key=key, first=ours.get(key, NOT_RECORDED), second=theirs.get(key, NOT_RECORDED))
        for key in dict.fromkeys([*ours, *theirs])
        if ours.get(key) != theirs.get(key) and key not in across
    ]


def require_known(
    across: Iterable[str], sweeps: Iterable[SweepRecord], rows: Iterable[str]
) -> None:
    """Refuse keys in ``across`` that no run could differ in: a misspelt one would do nothing.

    Args:
        across: Keys of ``--across``.
        sweeps: The runs.
        rows: Keys of their rows.

    Raises:
        SweepError: A key is unknown; names the nearest one.
    """
    recorded = [key for sweep in sweeps for key in environment_of(sweep)]
    packages = [f"versions.{name}" for name in TIMED_PACKAGES]
    known = list(dict.fromkeys([*_FIELDS, *recorded, *packages, *rows]))
    short = {key.rpartition(".")[2]: key for key in known}
    for name in across:
        if name not in known:
            whole = f"; did you mean {short[name]!r}?" if name in short else nearest(name, known)
            raise SweepError(
                f"across: {name!r} is no condition of a speed{whole}",
                f"allowed: {', '.join(known)}",
            )
