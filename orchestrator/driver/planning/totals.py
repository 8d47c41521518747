"""The totals of a plan: trials, time and core-hours over all stages, least and most."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from orchestrator.driver.budgets.budgets import Amount, Budgets
from orchestrator.driver.budgets.expectation import LEAST_CONFIGS
from orchestrator.driver.planning.groups import Group
from orchestrator.driver.planning.plan import Plan
from orchestrator.errors import SweepError
from orchestrator.trial import Stage

_TRAININGS, _PROBES, _CONFIRM = Group(Stage.TRAIN), Group(Stage.PROBE), Group(Stage.CONFIRM)
_TEST = Group(Stage.CONFIRM, tests=True)


@dataclass(frozen=True, kw_only=True)
class Total:
    """The total of some stages.

    Attributes:
        trials: Trials that are run.
        amount: What they take; None where no trial's duration is known.
    """

    trials: int
    amount: Amount | None


@dataclass(frozen=True, kw_only=True)
class _Part:
    """Trials of one stage.

    Attributes:
        group: What they are counted as.
        trials: How many.
        share: Time of each, as a fraction of a whole training's.
        at_once: How many run at the same time.
    """

    group: Group = _TRAININGS
    trials: int
    share: float = 1.0
    at_once: int = 1


def least(plan: Plan) -> Total:
    """Return the total of what is planned if nothing is added."""
    return _total(plan, _least_parts(plan))


def most(plan: Plan) -> Total | None:
    """Return the total with all that may be added; None where the search has no known end."""
    return None if plan.most_searched is None else _total(plan, _most_parts(plan))


def by_group(plan: Plan) -> tuple[Mapping[Group, Total], Mapping[Group, Total] | None]:
    """Return the totals :func:`least` and :func:`most` of each group of trials."""
    low = _grouped(plan, _least_parts(plan))
    return low, None if plan.most_searched is None else _grouped(plan, _most_parts(plan))


def least_useful(plan: Plan) -> Total:
    """Return the least that gives an answer: what a budget must have room for.

    Of a search that knows its stages: the least of them. Of another one: two configs. Then the
    confirm stage up to its first interim analysis.
    """
    return _total(plan, [*_least_search(plan), *_confirmed(plan, plan.num_confirm)])


def kept_back(plan: Plan, budgets: Budgets) -> Amount:
    """Return what budgets keep back for the confirm stage; nothing where no duration is known."""
    one = _total(plan, [_Part(trials=1)]).amount
    least_search = _total(plan, _least_search(plan)).amount
    if one is None or least_search is None:
        return Amount()
    return plan.confirm_stage.kept_back(budgets, baseline=one, typical=one, least=least_search)


def _least_search(plan: Plan) -> list[_Part]:
    if plan.stages:
        return list(_searched(plan, most=False))
    return [_Part(trials=min(LEAST_CONFIGS, plan.least_searched))]


def share_of_grid(plan: Plan) -> tuple[float, float] | None:
    """Return least and most core-time of the search, as shares of the grid's; None if unknown."""
    if not plan.stages or plan.candidates is None or plan.most_searched is None:
        return None
    num_configs = len(plan.candidates.keys)
    low = sum(part.trials * part.share for part in _searched(plan, most=False))
    high = sum(part.trials * part.share for part in _searched(plan, most=True))
    return low / num_configs, high / num_configs


def require_room(plan: Plan, budgets: Budgets) -> None:
    """Check that the budgets have room for the least of the plan, where durations are known.

    Raises:
        SweepError: One of them has not.
    """
    needed = least_useful(plan)
    if needed.amount is None or not (by := budgets.exceeded_by(needed.amount)):
        return
    searched = "the least of the search" if plan.stages else "two configs"
    confirmed = " and the confirm stage up to its first analysis" if plan.num_confirm else ""
    hint = " or --set rigor.confirm=0" if plan.num_confirm else ""
    raise SweepError(
        f"{by} is below the least of this plan: {budgets.in_words(needed.amount)} for {searched}"
        f"{confirmed}, {needed.trials} trials",
        f"allowed: more than that{hint}; --plan shows the plan",
    )


def _least_parts(plan: Plan) -> list[_Part]:
    return [
        *_searched(plan, most=False),
        _Part(group=_PROBES, trials=2 * plan.num_isolated),
        *_confirmed(plan, plan.num_confirm),
    ]


def _most_parts(plan: Plan) -> list[_Part]:
    at_once = plan.capacity[0]
    return [
        *_searched(plan, most=True),
        _Part(group=_PROBES, trials=2 * plan.num_isolated),
        # These run beside others, and those that were trained before the check perhaps again.
        _Part(group=_PROBES, trials=_background(plan), at_once=at_once),
        _Part(trials=plan.num_repeated, at_once=at_once),
        *_confirmed(plan, plan.max_confirm),
        _Part(group=_CONFIRM, trials=int(plan.confirms_end_to_end)),
    ]


def _confirmed(plan: Plan, num: int) -> list[_Part]:
    """Return so many runs of the confirm stage, the last of which is the test run."""
    if not num:
        return []
    compared = _Part(group=_CONFIRM, trials=num - 1, share=plan.confirm_share)
    return [compared, _Part(group=_TEST, trials=1)]


def _searched(plan: Plan, *, most: bool) -> Iterator[_Part]:
    if not plan.stages:
        share = 1.0 if most else _share_where_stopped(plan)
        yield _Part(trials=plan.least_searched, share=share, at_once=plan.capacity[0])
    for stage in plan.stages:
        yield _Part(
            group=_PROBES if stage.name == "probe" else _TRAININGS,
            trials=(stage.most or 0) if most else stage.least,
            share=stage.share_of_trial,
            at_once=1 if stage.isolated else plan.capacity[0],
        )


def _share_where_stopped(plan: Plan) -> float:
    """Return the least of its whole training that a mean trial takes: few get beyond a rung."""
    stopping, epochs = plan.sweep.stopping, plan.sweep.epochs
    if stopping is None:
        return 1.0
    share, left, before = 0.0, 1.0, 0
    for rung in (*stopping.rungs(epochs), epochs):
        share += left * (rung - before) / epochs
        left, before = left / stopping.factor, rung
    return share


def _background(plan: Plan) -> int:
    """Return the most trials that the interference check adds to those that it compares."""
    if not plan.num_isolated:
        return 0
    beside = plan.capacity[1] - 1
    trained_before = min(2 * plan.capacity[1], plan.least_searched)
    return 2 * plan.num_isolated * beside + trained_before


def _grouped(plan: Plan, parts: list[_Part]) -> dict[Group, Total]:
    groups = dict.fromkeys(part.group for part in parts)
    return {one: _total(plan, [part for part in parts if part.group == one]) for one in groups}


def _total(plan: Plan, parts: list[_Part]) -> Total:
    trials = sum(part.trials for part in parts)
    if plan.trial_s is None:
        return Total(trials=trials, amount=None)
    busy_s = plan.trial_s * sum(part.trials * part.share for part in parts)
    time_s = plan.trial_s * sum(-(-part.trials // part.at_once) * part.share for part in parts)
    gpus = plan.num_gpus
    amount = Amount(time_s=time_s, core_s=plan.num_cores * busy_s, gpu_s=gpus * busy_s)
    return Total(trials=trials, amount=amount)
