"""Rigor: how sure an answer is, and what it may cost to be so."""

import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from functools import wraps
from typing import Annotated, Any, Final, Literal, get_type_hints

import msgspec
from msgspec import Meta

from orchestrator.arguments import MOST, MOST_RUNS
from orchestrator.errors import SweepFileError, nearest
from orchestrator.field_types import shown, wrong_fields
from orchestrator.metrics import Objective, is_accuracy
from orchestrator.rules import SelectionRule

_MOST_S: Final = 1e9
_SOME_RUNS: Final = f"an int >= 0 and <= {MOST_RUNS}"
_Runs = Annotated[int, Meta(ge=1, le=MOST_RUNS, description=f"an int >= 1 and <= {MOST_RUNS}")]
_SomeRuns = Annotated[int, Meta(ge=0, le=MOST_RUNS, description=_SOME_RUNS)]
_Count = Annotated[int, Meta(ge=1, le=MOST, description="an int >= 1")]
_SomeCount = Annotated[int, Meta(ge=0, le=MOST, description="an int >= 0")]
_Switch = Annotated[bool, Meta(description="True or False")]
_Share = Annotated[float, Meta(ge=0, lt=1, description="a fraction of 1, >= 0 and < 1")]
_Width = Annotated[
    Annotated[float, Meta(gt=0, lt=1)] | None,
    Meta(description="a fraction of 1, > 0 and < 1, or None"),
]
_Seconds = Annotated[
    Annotated[float, Meta(gt=0, le=_MOST_S)] | None,
    Meta(description="seconds > 0 and <= 1e9, or None"),
]

GROWTH: Final = 1.8
"""Ratio of the rounds at an interim analysis to those at the one before: 3, 5, 9, 16."""
Preset = Literal["quick", "standard", "thorough"]


@dataclass(frozen=True, kw_only=True)
class Rigor:
    """The repetitions, margins and limits that a sweep's answer rests on.

    The defaults are the preset ``standard``. ``replace(Rigor.quick(), finalists=2)`` changes
    another one.

    Attributes:
        repeats: Runs of every config, each in a fresh process.
        max_repeats: Most runs of a config once the search is over. The best config and its near
            ties are repeated until they differ, or up to this number. No more than ``repeats``:
            none is added.
        confirm: Runs of each finalist and of the baseline, interleaved, that the claimed
            speed-up rests on. 0: no such stage, and no claim.
        max_confirm: Runs of each that the stage is extended to while they do not decide.
        interleaved: True where the runs of a confirm round share the same cores in short time
            slices. That takes one process each, on the CPU, and together at most half of the
            machine's memory. Otherwise one runs after another.
        finalists: Most configs of the confirm stage: the selected one, and those that may be
            as good.
        check_isolated: Configs of the interference check, where a node runs several trials at the
            same time: each runs both isolated and co-located. 0: no check.
        half_width: A trial ends before its epochs do once half of its throughput's 95 %
            interval is at most this share of it; for questions about speed alone. None: it
            is trained in full.
        tie_margin: A smaller difference of speeds counts as none, as a fraction of 1; the cheapest
            of such configs is recommended.
        accuracy_tolerance: How far below the best validation accuracy the recommended
            config may lie, as a fraction of 1.
        retries: How often a trial that failed is tried again.
        time_limit_s: A trial that takes longer is infeasible.
    """

    repeats: _Runs = 1
    max_repeats: _Runs = 3
    confirm: _SomeRuns = 3
    max_confirm: _SomeRuns = 9
    interleaved: _Switch = True
    finalists: _Count = 2
    check_isolated: _SomeCount = 2
    half_width: _Width = None
    tie_margin: _Share = 0.02
    accuracy_tolerance: _Share = 0.005
    retries: _SomeCount = 1
    time_limit_s: _Seconds = None

    @property
    def analyses(self) -> tuple[int, ...]:
        """Rounds of the confirm stage at each of its interim analyses, ascending.

        They are fixed beforehand, so that the intervals at all of them together have 95 %
        confidence, whichever the stage ends at (repeated confidence intervals: Jennison and
        Turnbull, "Interim analyses: the repeated confidence interval approach", Journal of the
        Royal Statistical Society B 51, 1989; their level:
        :mod:`orchestrator.analysis.statistics.rounds`).
        """
        at = [max(self.confirm, 1)]
        while at[-1] < self.max_confirm:
            at.append(min(round(GROWTH * at[-1]), self.max_confirm))
        return tuple(at)

    @property
    def numbers_of_runs(self) -> dict[str, str]:
        """Runs of a config by what they are for, fewest and most, in words."""
        both = {"repeats": (self.repeats, self.max_repeats)}
        both["confirm runs"] = self.confirm, self.max_confirm
        return {name: f"{first}, up to {max(first, last)}" for name, (first, last) in both.items()}

    def with_tolerance(self, objective: Objective, rule: SelectionRule) -> Objective:
        """Return an objective with a sweep's tolerance for it, where it has none itself.

        The rule's own comes first; one with a bound has none.
        """
        if objective.bound is not None:
            return objective
        if rule.metric == objective.metric and rule.tolerance is not None:
            return replace(objective, tolerance=rule.tolerance, relative=rule.relative)
        if objective.tolerance is not None:
            return objective
        if is_accuracy(objective.metric):
            return replace(objective, tolerance=float(self.accuracy_tolerance), relative=False)
        return replace(objective, tolerance=float(self.tie_margin), relative=True)

    @staticmethod
    def quick() -> "Rigor":
        """Return the preset of a first look: one round of claims, no repeats, no check."""
        return Rigor(max_repeats=1, max_confirm=3, finalists=1, check_isolated=0)

    @staticmethod
    def standard() -> "Rigor":
        """Return the defaults."""
        return Rigor()

    @staticmethod
    def thorough() -> "Rigor":
        """Return the preset of figures to publish: more runs of more configs."""
        return Rigor(
            repeats=2, max_repeats=6, confirm=5, max_confirm=25, finalists=3, check_isolated=4
        )


PRESETS: Final[Mapping[str, Rigor]] = {
    "quick": Rigor.quick(), "standard": Rigor.standard(), "thorough": Rigor.thorough(),
}  # fmt: skip
NAMES: Final = tuple(entry.name for entry in fields(Rigor))
"""Names of the fields of :class:`Rigor`."""
_PRESET: Final = f"allowed: {', '.join(PRESETS)}, or Rigor(...)"


class RigorField:
    """The field ``rigor`` of a sweep: it takes a preset's name, too, and returns the record."""

    def __get__(self, sweep: object | None, owner: object = None) -> Rigor:
        """Return the record of ``sweep``; of the class, the default."""
        if sweep is None:
            return PRESETS["standard"]
        rigor: Rigor = vars(sweep)["rigor"]
        return rigor

    def __set__(self, sweep: object, value: Rigor | Preset) -> None:
        """Keep a record, or the one that has this name."""
        vars(sweep)["rigor"] = PRESETS.get(value, value) if isinstance(value, str) else value


def rigor_findings(rigor: object) -> Iterator[tuple[str, str]]:
    """Yield what is wrong with a sweep's rigor, and what is allowed, one field after the other."""
    if isinstance(rigor, Rigor):
        for wrong in wrong_fields(rigor):
            yield f".{wrong} is not allowed", f"allowed: {wrong.allowed}"
        return
    close = nearest(rigor, PRESETS) if isinstance(rigor, str) else ""
    called = rigor.__name__ if isinstance(rigor, type) else shown(rigor)
    yield f" = {called} is not allowed{close}", _PRESET


def with_setting(rigor: Rigor, setting: str) -> Rigor:
    """Return the record with ``rigor=PRESET`` or ``rigor.NAME=VALUE`` of a command line applied.

    Raises:
        SweepFileError: There is no such preset or field, or no such value of it.
    """
    name, _, text = setting.partition("=")
    if name == "rigor":
        if text not in PRESETS:
            raise SweepFileError(
                f"--set {setting}: {shown(text)} is no preset{nearest(text, PRESETS)}",
                f"allowed: {', '.join(PRESETS)}, or rigor.NAME=VALUE",
            )
        return PRESETS[text]
    name = name.removeprefix("rigor.")
    if name not in NAMES:
        raise SweepFileError(
            f"--set {setting}: rigor has no {name!r}{nearest(name, NAMES)}",
            f"allowed: {', '.join(NAMES)}",
        )
    kind = get_type_hints(Rigor, include_extras=True)[name]
    try:
        text = "null" if text.lower() == "none" else text
        value = msgspec.convert(text, kind, strict=False)
    except msgspec.ValidationError:
        allowed = kind.__metadata__[-1].description
        raise SweepFileError(f"--set {setting}: not allowed", f"allowed: {allowed}") from None
    return replace(rigor, **{name: value})


OLD_OPTIONS: Final = {
    "--repeats": "rigor.repeats=N",
    "--confirm": "rigor.confirm=N rigor.max_confirm=N",
    "--retries": "rigor.retries=N",
}
"""What ``--set`` takes in the place of an option of the last version, N for its value."""


def with_old_fields(init: Callable[..., None]) -> Callable[..., None]:
    """Return a sweep's constructor that takes the fields that are its rigor's now, with a warning.

    They were a sweep's own before version 0.1.
    """

    @wraps(init)
    def made(self: object, *args: object, **given: Any) -> None:  # noqa: ANN401 - any field
        old = {name: given.pop(name) for name in NAMES if name in given}
        if old:
            text = ", ".join(f"{name}={shown(value)}" for name, value in old.items())
            message = f"{', '.join(old)}: now of a sweep's rigor: rigor=Rigor({text})"
            warnings.warn(message, FutureWarning, stacklevel=2)
            before = given.get("rigor", "standard")
            rigor = PRESETS.get(before, before) if isinstance(before, str) else before
            given["rigor"] = replace(rigor, **old) if isinstance(rigor, Rigor) else rigor
        init(self, *args, **given)

    return made
