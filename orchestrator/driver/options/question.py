"""Options of the question: what is trained, and how it is searched."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from orchestrator.arguments import a_path
from orchestrator.driver.budgets.budgets import Prices
from orchestrator.driver.options.declaration import Group, count, duration_s, limit, option
from orchestrator.driver.options.settings import setting
from orchestrator.search import SEARCHES


def _listed(names: Mapping[str, object]) -> str:
    *others, last = names
    return f"{', '.join(others)} or {last}"


@dataclass(frozen=True, kw_only=True)
class QuestionOptions:
    """Options of the question; None, False or empty where an option was not given."""

    sweep_file: Path | None = None
    plan: bool = field(
        default=False,
        metadata=option(
            Group.TRAINED,
            "print what would run, and stop",
            more=": the data set by its headers, the trials of each stage, what was merged, what "
            "cannot run here and why, cores, how many run at the same time, the expected time",
        ),
    )
    data: str | None = field(
        default=None,
        metadata=option(
            Group.TRAINED,
            "train on this data set instead of the sweep's",
            metavar="NAME_OR_PATH",
            stored=True,
        ),
    )
    data_root: Path | None = field(
        default=None,
        metadata=option(
            Group.TRAINED,
            "where data sets live (default: $SWEEP_DATA, else data/)",
            metavar="DIR",
            read=a_path,
            stored=True,
            more=". Only a download writes there",
        ),
    )
    download: bool = field(
        default=False,
        metadata=option(
            Group.TRAINED,
            "fetch the data set if it is absent",
            more="; nothing is ever fetched without it",
        ),
    )
    set: tuple[str, ...] = field(
        default=(),
        metadata=option(
            Group.TRAINED,
            "fix a knob, in the space and in the baseline; or rigor=PRESET, rigor.NAME=VALUE, "
            "replay.NAME=VALUE; may be repeated",
            metavar="NAME=VALUE",
            is_list=True,
            read=setting,
            stored=True,
            more=". A tuple is written `15,10`. `rigor=quick` and `rigor.confirm=5` change the "
            "sweep's [rigor](sweep-files.md#rigor); `replay.cores=N`, `replay.nodes=N` and "
            "`replay.reuse_repeats=true` a [replay](replay.md)",
        ),
    )
    search: str | None = field(
        default=None,
        metadata=option(
            Group.SEARCHED,
            f"{_listed(SEARCHES)} instead of the sweep's",
            metavar="NAME",
            stored=True,
        ),
    )
    trials: int | None = field(
        default=None,
        metadata=count(
            "configs to try at most",
            more=". With `--resume` a larger N extends the search ([extending](#extending-a-run))",
        ),
    )
    seed: int | None = field(
        default=None,
        metadata=count(
            "seed of the plan and, plus the repeat, of every trial", least=0, replaces="seed"
        ),
    )
    epochs: int | None = field(
        default=None, metadata=count("epochs of a whole training", replaces="epochs")
    )
    steps: int | None = field(
        default=None, metadata=count("optimizer steps of a training at most", replaces="steps")
    )
    warm_start: tuple[Path, ...] = field(
        default=(),
        metadata=option(
            Group.SEARCHED,
            "tell the search the results of these runs first",
            metavar="RUN_DIR",
            is_list=True,
            read=a_path,
            more=" ([warm start](sweep-files.md#warm-start))",
        ),
    )
    time_budget: float | None = field(
        default=None,
        metadata=option(
            Group.SEARCHED,
            "start no trial after it (90s, 30m, 2h); the rest are rows not_run",
            metavar="30m",
            read=duration_s,
            stored=True,
            more=" ([budgets](#budgets))",
        ),
    )
    core_hours: float | None = field(
        default=None,
        metadata=limit(
            "budget of core-hours: cores of each trial times the time that it holds them",
            "a number of hours",
        ),
    )
    cost: Prices | None = field(
        default=None,
        metadata=option(
            Group.SEARCHED,
            "prices of a core and of a GPU for one hour",
            metavar="cpu_hour=0.04,gpu_hour=2.50",
            read=Prices.read,
            stored=True,
            more="; either may be left out. They replace the sweep's `prices`",
        ),
    )
    max_cost: float | None = field(
        default=None,
        metadata=limit(
            "budget in the unit of the prices",
            "a cost",
            more=". It takes `--cost`, or the sweep's `prices`",
        ),
    )
