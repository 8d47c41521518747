"""A plan as lines of text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from orchestrator.driver.budgets.budgets import Budgets
from orchestrator.driver.planning.plan import Plan
from orchestrator.driver.planning.stopping import stopping_lines
from orchestrator.driver.planning.totals import share_of_grid
from orchestrator.driver.planning.totals_text import budget_lines, in_all
from orchestrator.driver.planning.words import count, duration, percent, trials
from orchestrator.kernel.candidates import Candidates
from orchestrator.kernel.search import PlannedStage
from orchestrator.search.stages.interference import ROUNDS
from orchestrator.search.stages.repeats import MAX_CONTENDERS
from orchestrator.space.configs import domains_of, format_setting, knobs_of

_LABEL = 12
_NUM_REASONS = 8
_PAYS_FROM = 100
"""Configs below which a grid is about as cheap as a search that probes and composes."""


def note(text: str) -> str:
    """Return a note as it is printed before anything else."""
    return "NOTE: " + text.replace("\n", "\n      ")


def plan_lines(plan: Plan, data: str = "", budgets: Budgets | None = None) -> list[str]:
    """Return the plan as lines of text; the last one has the totals over all stages.

    Args:
        plan: The plan.
        data: The data set in words, or empty.
        budgets: Limits of what the trials may take together.
    """
    limits = budgets or Budgets()
    parts = {
        "sweep": _sweep(plan),
        "data": [data] if data else [],
        "varied": _varied(plan),
        **_search(plan),
        "stopping": stopping_lines(plan),
        "check": _interference(plan),
        "repeats": _repeats(plan),
        "confirm": _confirm(plan),
        "cores": _cores(plan),
        "time": [_time(plan)],
        "budget": budget_lines(plan, limits),
        "in all": [in_all(plan, limits)],
    }
    return labelled(parts)


def labelled(parts: Mapping[str, Iterable[str]]) -> list[str]:
    """Return lines of text, the label before the first of each part."""
    return [
        f"{label if position == 0 else '':<{_LABEL}}{text}".rstrip()
        for label, texts in parts.items()
        for position, text in enumerate(texts)
    ]


def _sweep(plan: Plan) -> Iterator[str]:
    sweep, budget = plan.sweep, plan.sweep.budget
    if sweep.question:
        yield sweep.question
    steps = f", at most {budget.steps:,} steps" if budget.steps is not None else ""
    width = budget.half_width
    until = f", fewer once its speed is known to {width:.2g} of itself" if width else ""
    yield f"{sweep.trainable.name}, {count(budget.epochs, 'epoch')} a trial{steps}{until}"


def _varied(plan: Plan) -> Iterator[str]:
    domains, known = domains_of(plan.sweep.space), knobs_of(plan.sweep.trainable.config)
    for name, domain in domains.items():
        unit = f" {known[name].unit}" if known[name].unit else ""
        yield f"{name}: {domain}{unit} [{known[name].role}]"
    if not domains:
        yield "nothing: one config and the baseline"


def _search(plan: Plan) -> dict[str, list[str]]:
    """Return the lines of each stage of the search, by its word."""
    if not plan.stages:
        return {"train": list(_train(plan))}
    lines: dict[str, list[str]] = {}
    for stage in plan.stages:
        lines.setdefault(stage.name, []).append(_stage(stage))
    return {**lines, "": list(_composed(plan))}


def _stage(stage: PlannedStage) -> str:
    isolated = ", one at a time and isolated" if stage.isolated else ""
    share = stage.share_of_trial
    one = "" if stage.most == 1 else "each "
    each = f", {one}about {percent(share)} of a whole training" if share < 1 else ""
    text = f": {stage.text}" if stage.text else ""
    return f"{trials(stage.least, stage.most)}{isolated}{each}{text}"


def _composed(plan: Plan) -> Iterator[str]:
    """Yield what the stages together are beside the grid, and what is left out."""
    if plan.candidates is None:
        return
    num_configs = len(plan.candidates.keys)
    if shares := share_of_grid(plan):
        low, high = map(percent, shares)
        both = low if low == high else f"{low} to {high}"
        yield f"about {both} of the core-time of the grid of {count(num_configs, 'config')}"
    if num_configs < _PAYS_FROM:
        yield (
            f"with fewer than about {_PAYS_FROM} configs the grid is as cheap, and measures each "
            "of them: --search grid"
        )
    yield from _left_out(plan.candidates)
    yield from _cannot_run(plan, "not run if chosen")


def _train(plan: Plan) -> Iterator[str]:
    configs, search = plan.max_configs, type(plan.sweep.search).__name__
    each = f", {plan.sweep.rigor.repeats} runs each" if plan.sweep.rigor.repeats > 1 else ""
    if plan.exact and plan.candidates is not None and configs is not None:
        added = ", the baseline added" if plan.candidates.baseline_added else ""
        yield f"{count(plan.num_train, 'trial')}: {count(configs, 'config')}{added}{each}"
        limit = getattr(plan.sweep.search, "trials", None)
        if limit is not None and configs < limit:
            yield f"fewer than the {limit:,} asked for: the space has no more"
        yield from _left_out(plan.candidates)
        yield from _cannot_run(plan, "one row each, not run")
        return
    up_to = "as many trials as it asks for"
    if plan.num_train is not None:
        up_to = f"up to {count(plan.num_train, 'trial')} of {count(configs, 'config')}"
    yield f"{up_to}{each}: {search} chooses as results come"
    limit = getattr(plan.sweep.search, "trials", None)
    if plan.is_whole and configs is not None and limit is not None and configs < limit:
        yield f"fewer than the {limit:,} asked for: the space has no more"
    if plan.candidates is not None and plan.num_infeasible + plan.candidates.num_excluded:
        total = len(plan.candidates.keys) + plan.candidates.num_excluded
        middle = "" if plan.is_whole else " (the middle of each interval taken)"
        yield f"of {total:,} configs of the space{middle}:"
        yield from _left_out(plan.candidates)
        yield from _cannot_run(plan, "not run if chosen")


def _left_out(candidates: Candidates) -> Iterator[str]:
    if candidates.num_merged:
        examples = "; ".join(
            f"{_settings(example.stated)} as {_settings(example.canonical)}"
            for example in candidates.merged
        )
        example = f", where it has no effect: {examples}" if examples else ""
        what = "draws" if candidates.drawn else "combinations"
        total = f"{candidates.num_merged:,} of {candidates.num_combinations:,} {what}"
        yield f"merged as the same: {total}{example}"
    if candidates.num_excluded:
        yield f"excluded by the sweep's constraints: {count(candidates.num_excluded, 'config')}"


def _cannot_run(plan: Plan, what_then: str) -> Iterator[str]:
    if not plan.cannot_run:
        return
    yield f"cannot run here: {count(plan.num_infeasible, 'config')}, {what_then}"
    shown = plan.cannot_run[:_NUM_REASONS]
    for group in shown:
        example = f" (as {_settings(group.example)})" if group.example else ""
        yield f"  {group.num_configs:>5,}  {group.reason}{example}"
    if len(shown) < len(plan.cannot_run):
        yield f"         and {count(len(plan.cannot_run) - len(shown), 'other reason')}"


def _interference(plan: Plan) -> Iterator[str]:
    if plan.is_factored:
        yield "none: probes run isolated; check_isolated has no effect in a factored search"
    if plan.num_isolated:
        configs = count(plan.num_checked, "config")
        yield (
            f"{2 * plan.num_isolated} trials: {configs}, {ROUNDS} runs each isolated and {ROUNDS} "
            "with background trials on the other cores, in alternation; if their speeds differ, "
            "all trials run isolated from then on"
        )


def _repeats(plan: Plan) -> Iterator[str]:
    if plan.is_factored:
        yield "the search has its own; max_repeats has no effect in a factored search"
    if plan.num_repeated:
        yield (
            f"up to {plan.num_repeated} more: the best config and up to {MAX_CONTENDERS} that are "
            f"not told from it, until each has {plan.sweep.rigor.max_repeats} runs"
        )


def _confirm(plan: Plan) -> Iterator[str]:
    if not plan.num_confirm:
        yield "no trials, so no speed-up will be claimed"
        return
    sweep, is_sole = plan.sweep, plan.num_finalists == 1
    how = "interleaved on the same cores where possible" if sweep.rigor.interleaved else "in pairs"
    share = plan.confirm_share
    short = f" of about {percent(share)} of a whole training" if share < 1 else ""
    whole = ", and one more config of the front" if plan.confirms_end_to_end else ""
    runs = count(sweep.rigor.confirm, "run")
    compared = f"the selected config and the baseline, {runs} each{short}, {how} and isolated"
    if is_sole:
        compared = f"the one config, {runs}{short}, isolated"
    yield (
        f"{plan.num_confirm} trials: {compared}; then what is recommended, once, "
        f"with the test split{whole}"
    )
    if plan.max_confirm > plan.num_confirm:
        yield f"up to {plan.max_confirm}: {', and '.join(_more_to_confirm(plan))}"


def _more_to_confirm(plan: Plan) -> Iterator[str]:
    """Yield what makes the confirm stage longer: contenders, and rounds that do not decide."""
    sweep, contenders = plan.sweep, plan.num_finalists - 2
    if contenders > 0:
        yield f"up to {count(contenders, 'contender')} of the selected config"
    if sweep.rigor.max_confirm > sweep.rigor.confirm:
        yield f"up to {sweep.rigor.max_confirm} runs each while they do not decide"


def _cores(plan: Plan) -> Iterator[str]:
    nodes = count(len(plan.machine.nodes), "node")
    gpus = sum(node.gpus for node in plan.machine.nodes)
    reserved = sum(node.reserved_cpus for node in plan.machine.nodes)
    offer = f"{nodes} of {count(plan.machine.cpus, 'core')}"
    offer += f" and {reserved} kept for the driver and Ray" if reserved else ""
    yield f"{plan.num_cores} a trial; {offer}, {count(gpus, 'GPU') if gpus else 'no GPU'}"
    low, high = plan.capacity
    at_once = str(low) if low == high else f"{low} to {high}, after the GPUs they ask for,"
    yield f"{at_once} at once, {plan.sweep.isolation}"


def _time(plan: Plan) -> str:
    if plan.trial_s is None:
        return (
            "unknown until the first trial has run: no earlier run of this sweep on this data with "
            "this budget, these fixed knobs and cores"
        )
    source = "as the sweep file has it; there is no earlier run like this one"
    if plan.earlier is not None:
        source = f"median of {count(plan.earlier.num_trials, 'earlier trial')}"
    return f"{duration(plan.trial_s)} a trial ({source})"


def _settings(values: Mapping[str, Any]) -> str:
    return " ".join(format_setting(name, value) for name, value in values.items())
