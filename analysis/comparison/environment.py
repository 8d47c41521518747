"""What the speed of every trial of a run depends on, and where two runs differ in it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Final

from orchestrator.provenance.node_tags import TIMED_PACKAGES

NOT_RECORDED: Final = "not recorded"

_SWEEP_KEYS: Final = ("trainable", "data", "data_fingerprint", "cores_per_trial")


@dataclass(frozen=True, kw_only=True)
class Difference:
    """Something that a speed depends on and that is not the same in two runs."""

    key: str
    first: str
    second: str

    def __str__(self) -> str:
        return f"{self.key}: {self.first} and {self.second}"


def environment_of(sweep: Mapping[str, Any]) -> dict[str, str]:
    """What the speed of every trial of a sweep depends on, by key.

    Versions of packages that run outside a timed step are recorded and keep nothing apart.
    """
    keys = {key: str(sweep[key]) for key in _SWEEP_KEYS if key in sweep}
    for name, value in sweep.get("hardware", {}).items():
        # Total memory varies by a few MiB with the kernel.
        keys[f"hardware.{name}"] = f"{value:.0f}" if isinstance(value, float) else str(value)
    versions = sweep.get("versions", {})
    return keys | {f"versions.{n}": str(versions[n]) for n in TIMED_PACKAGES if n in versions}


def differences(
    first: Mapping[str, Any], second: Mapping[str, Any], *, across: Collection[str] = ()
) -> list[Difference]:
    """Where the environments of two sweeps differ, apart from the keys in ``across``."""
    ours, theirs = environment_of(first), environment_of(second)
    return [
        Difference(key=key, first=ours.get(key, NOT_RECORDED), second=theirs.get(key, NOT_RECORDED))
        for key in dict.fromkeys([*ours, *theirs])
        if ours.get(key) != theirs.get(key) and key not in across
    ]
