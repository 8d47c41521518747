"""Comparisons in words: what is in common, and refusals."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Final

from orchestrator.analysis.comparison.environment import Difference
from orchestrator.analysis.statistics.common_change import CommonChange
from orchestrator.analysis.statistics.intervals import is_narrow
from orchestrator.errors import SweepError
from orchestrator.formats import counted

SOURCE_DIFFERS: Final = "the trainable's source differs between the runs: so may what a step does"

_MOST_NAMED: Final = 3


def common_text(change: CommonChange) -> str:
    """Return what the configs of a stage have in common, in a sentence."""
    several = change.num_configs > 1
    configs = f"the {change.num_configs} configs together" if several else "one config"
    over = f", over {change.num_pairs} pairs of runs" if change.num_pairs > 1 else ""
    if not is_narrow(change.low, change.high):
        why = "too few runs" if math.isnan(change.low) else "the runs differ too much"
        return f"{change.stage}: {configs}{over}: the change is not known: {why}"
    ends = f"({change.low:.3f} to {change.high:.3f})"
    start = f"{change.stage}: {configs}, {change.ratio:.3f}x {ends}{over}"
    if change.low <= 1 <= change.high:
        return f"{start}: no common change is shown"
    if change.num_pairs > 1:
        return f"{start}: a change that all have in common is shown"
    return (
        f"{start}: what all have in common is the host on the day as much as what was "
        "changed between the runs; two runs cannot tell which, --again can"
    )


def lost_text(labels: Sequence[str]) -> str:
    """Return that configs completed in the first run alone, with the first few of them."""
    more = f" and {len(labels) - _MOST_NAMED} more" if len(labels) > _MOST_NAMED else ""
    return (
        f"{counted(len(labels), 'config')} completed in the first run and failed in the second: "
        f"{'; '.join(labels[:_MOST_NAMED])}{more}"
    )


def environments_differ(apart: Sequence[Difference]) -> SweepError:
    """Return the refusal of runs whose environments differ."""
    return SweepError(
        f"the runs cannot be compared; they differ in what a speed depends on:\n{_lines(apart)}",
        _across(apart),
    )


def rows_differ(apart: Sequence[Difference]) -> SweepError:
    """Return the refusal of runs no rows of which have the same conditions."""
    return SweepError(
        f"no config ran under the same conditions in both runs:\n{_lines(apart)}", _across(apart)
    )


def pairs_differ(apart: Sequence[Difference]) -> SweepError:
    """Return the refusal of pairs whose first runs differ in their environment."""
    return SweepError(
        f"the pairs cannot be combined; their first runs differ in\n{_lines(apart)}",
        "another pair is the same two versions, on the same machine",
    )


def no_config_in_both(apart: Sequence[Difference]) -> SweepError:
    """Return the refusal of runs without a common config, by the columns without a common value."""
    names = "; ".join(map(str, apart))
    return SweepError(
        "no config was completed in both runs",
        f"they differ in {names}" if apart else "no two configs are the same",
    )


def _lines(apart: Iterable[Difference]) -> str:
    return "\n".join(f"  {difference}" for difference in apart)


def _across(apart: Iterable[Difference]) -> str:
    keys = dict.fromkeys(difference.key for difference in apart)
    options = " ".join(f"--across {key}" for key in keys)
    return f"where that is what you want to compare, say so: {options}"
