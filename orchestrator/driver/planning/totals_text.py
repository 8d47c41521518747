"""The last lines of a plan: what its budgets mean, and the totals over all stages."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from orchestrator.driver.budgets.budgets import HOUR_S, Amount, Budgets
from orchestrator.driver.planning.plan import Plan
from orchestrator.driver.planning.totals import Total, kept_back, least, most
from orchestrator.driver.planning.words import duration, trials


def budget_lines(plan: Plan, budgets: Budgets) -> Iterator[str]:
    """Yield what the budgets mean for the plan; nothing without any."""
    low = least(plan)
    if not list(budgets.shares(Amount())):
        return
    limits = ", ".join(words for _, words in budgets.shares(Amount()))
    yield f"{limits}: no trial starts that it has no room for"
    if low.amount is None:
        yield "how far that goes is not known until trials have run"
        return
    if plan.num_confirm:
        kept = kept_back(plan, budgets)
        yield f"kept back for the confirm stage: {budgets.in_words(kept)}"
    if by := budgets.exceeded_by(low.amount):
        yield f"{by} ends the search before its last config: the plan takes more"


def in_all(plan: Plan, budgets: Budgets) -> str:
    """Return the trials of all stages, least and most, and what they take."""
    low, high = least(plan), most(plan)
    parts = [trials(low.trials, None if high is None else high.trials)]
    if low.amount is None:
        return f"{parts[0]}; how long they take is not known yet: no earlier trials like these"
    parts += [
        f"about {_span(duration, low, high, 'time_s')}",
        f"{_span(_hours, low, high, 'core_s')} core-hours",
    ]
    if low.amount.gpu_s:
        parts.append(f"{_span(_hours, low, high, 'gpu_s')} GPU-hours")
    if budgets.prices is not None:
        costs = [
            f"{budgets.prices.of(total.amount):,.2g}"
            for total in (low, high)
            if total is not None and total.amount is not None
        ]
        parts.append(f"cost {' to '.join(dict.fromkeys(costs))}")
    return ", ".join(parts)


def _span(words: Callable[[float], str], low: Total, high: Total | None, name: str) -> str:
    """Return one of the amounts of two totals, least and most, in words."""
    amounts = [total.amount for total in (low, high) if total is not None]
    texts = [words(getattr(amount, name)) for amount in amounts if amount is not None]
    return " to ".join(dict.fromkeys(texts)) + (" and more" if high is None else "")


def _hours(seconds: float) -> str:
    return f"{seconds / HOUR_S:,.2g}"
