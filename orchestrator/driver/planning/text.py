"""``--plan``: what would run, as lines of text; nothing is started."""

import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice

from orchestrator.driver.budgets import Amount, Budgets
from orchestrator.driver.options.options import Options
from orchestrator.driver.planning.plan import Plan, Total, least, most, planned
from orchestrator.driver.planning.spending import Spending, require_room
from orchestrator.driver.request import read_request
from orchestrator.driver.resumption import Past, past_events, past_of
from orchestrator.errors import RunDirectoryError, refusing_os_errors
from orchestrator.execution.placement import cap_note
from orchestrator.formats import counted, duration, percent
from orchestrator.kernel.events import Event, Finished
from orchestrator.kernel.search import PlannedStage
from orchestrator.search.grid import spacing
from orchestrator.search.own import started
from orchestrator.space.configs import domains_of, format_setting, knobs_of
from orchestrator.storage.sweep_record import read_sweep
from orchestrator.sweep.problem import search_problem
from orchestrator.trial import FINAL, TrialState

_LABEL = 12
_NUM_REASONS = 8


def print_plan(given: Options) -> int:
    """Print what would run; return the exit code."""
    if _print_plan_of_record(given):
        return 0
    with refusing_os_errors():
        request = read_request(given)
        dataset, folders, data, name = request.dataset, request.folders, "", ""
        if dataset is not None and dataset.present(folders):
            data = name = dataset.name_in(folders)
        elif dataset is not None:
            data = f"{dataset.name}, to be downloaded: not read yet"
    options, machine, sweep = request.options, request.here, request.sweep
    past = past_of(request)
    plan = planned(request, machine, name, past.configs)
    if request.before is None:
        require_room(plan, options.budgets)
    elif past.record is not None and not options.address:  # a cluster's cores are not known here
        now = replace(past.record, cores_per_trial=plan.num_cores, data=name or past.record.data)
        past.require_same(now, "ground")
    notes = [
        request.data_note,
        cap_note(sweep.cores_per_trial, machine),
        "planned for this machine; --address is not asked" if options.address else "",
        *request.warm_start.notes,
    ]
    lines = [*map(note, filter(None, notes)), *plan_lines(plan, data, options.budgets)]
    if past.events:
        last_at = past.events[-1].at
        spending = Spending(options.budgets, plan, lambda: last_at)
        for event in past.events:
            spending.apply(event)
        if past.trials is not None:
            past.require_extended(started(sweep.search, search_problem(sweep, machine)))
        lines += lines_of_the_past(past, spending.spent, options.budgets)
    sys.stdout.write("\n".join(lines) + "\n")
    return 0


def _print_plan_of_record(given: Options) -> bool:
    """Print the plan of a run whose sweep file may not run, by its record; else return False.

    Raises:
        RunDirectoryError: More than the record is needed.
    """
    if given.resume is None or given.sweep_file is not None:
        return False
    record = read_sweep(given.resume)
    try:
        record.own_file("name the file to plan more trials")
    except RunDirectoryError as error:
        if given.trials is not None:
            raise
        why = error.message
    else:
        return False
    lines = labelled({
        "sweep": [record.question, f"{record.trainable}, {counted(record.budget.epochs, 'epoch')}"],
        "varied": [f"{n}: {text} [{record.knobs[n].role}]" for n, text in record.space.items()],
        "search": [record.search],
        "in all": ["no known end" if (num := record.num_planned) is None else f"{num:,} trials"],
        "done": [_done(past_events(given.resume))],
    })  # fmt: skip
    sys.stdout.write("\n".join([note(f"{why}; this is the record alone"), *lines]) + "\n")
    return True


def lines_of_the_past(past: Past, spent: Amount, budgets: Budgets) -> list[str]:
    """Return the lines of what is done, what was ``spent``, and its shares of today's budgets."""
    shares = (f"{percent(share)} of {words}" for share, words in budgets.shares(spent))
    return labelled({"done": [_done(past.events)], "spent": [str(spent), *shares]})


def _done(events: Sequence[Event]) -> str:
    """Return how many trials have ended, in words."""
    ended = {each.trial_id: each.result.state for each in events if isinstance(each, Finished)}
    states = Counter(ended.values())
    done = counted(states.total() - states.get(TrialState.NOT_RUN, 0), "trial")
    in_states = ", ".join(f"{num} {state.replace('_', ' ')}" for state, num in states.items())
    return f"{done}: {in_states}" if states else "none"


# -- the plan as lines


def note(text: str) -> str:
    """Return a note as it is printed before anything else."""
    return "NOTE: " + text.replace("\n", "\n      ")


def plan_lines(plan: Plan, data: str = "", budgets: Budgets | None = None) -> list[str]:
    """Return the plan, on ``data`` in words; the last line has the totals over all stages."""
    parts = {
        "sweep": _sweep(plan),
        "data": [data] if data else [],
        "varied": _varied(plan),
        **_search(plan),
        "stopping": _stopping(plan),
        **_stages(plan, plan.around),
        **({} if plan.finals else {str(FINAL): ["no trials, so no speed-up will be claimed"]}),
        "cores": _cores(plan),
        "time": [_time(plan)],
        "budget": _budget(plan, budgets or Budgets()),
        "in all": [_in_all(plan)],
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
    yield f"{sweep.trainable.name}, {counted(budget.epochs, 'epoch')} a trial{steps}{until}"


def _varied(plan: Plan) -> Iterator[str]:
    domains, known = domains_of(plan.sweep.space), knobs_of(plan.sweep.trainable.config)
    for name, domain in domains.items():
        unit = f" {known[name].unit}" if known[name].unit else ""
        points = getattr(plan.sweep.search, "points", None)
        apart = spacing(domain, points) if isinstance(points, int) else ""
        yield f"{name}: {domain}{unit} [{known[name].role}]{f': {apart}' if apart else ''}"
    if not domains:
        yield "nothing: one config and the baseline"


def _search(plan: Plan) -> dict[str, list[str]]:
    """Return the lines of each stage of the search, by its word."""
    if not plan.is_staged:
        return {"train": list(_train(plan))}
    return {**_stages(plan, plan.searched), "": [*_of_grid(plan), *_left_out(plan)]}


def _of_grid(plan: Plan) -> Iterator[str]:
    """Yield how the stages together compare with the grid, and what more nodes bring."""
    high = most(plan, plan.searched)
    if plan.candidates is not None and high is not None:
        num, both = len(plan.candidates.keys), (least(plan, plan.searched), high)
        found = [total.trainings / num for total in both]
        shares = dict.fromkeys(percent(share, digits=int(share < 0.1)) for share in found)
        grid = counted(num, "config")
        yield f"about {' to '.join(shares)} of the core-time of the grid of {grid}"
        two, ten = (percent(plan.share_on(times)) for times in (2, 10))
        yield f"about {two} of the time on twice the nodes, {ten} on ten times"


def _stages(plan: Plan, stages: Sequence[PlannedStage]) -> dict[str, list[str]]:
    lines: dict[str, list[str]] = {}
    for stage in stages:
        lines.setdefault(stage.name, []).append(_stage(plan, stage))
    return lines


def _stage(plan: Plan, stage: PlannedStage) -> str:
    isolated = ", isolated" if stage.isolated else ""
    share = plan.share_of(stage, stage.share_of_trial)
    each = f", each about {percent(share)} of a whole training" if share < 1 else ""
    text = f": {stage.text}" if stage.text else ""
    return f"{_trials(stage.least, stage.most)}{isolated}{each}{text}"


def _train(plan: Plan) -> Iterator[str]:
    configs, trials, text = plan.max_configs, plan.searched[0].most, plan.searched[0].text
    each = f", {text}" if text else ""
    counts = "as many trials as it asks for"
    if trials is not None and configs is not None:
        up_to, of = ("", ":") if plan.exact else ("up to ", " of")
        counts = f"{up_to}{counted(trials, 'trial')}{of} {counted(configs, 'config')}"
    if plan.exact:
        is_added = plan.candidates is not None and plan.candidates.baseline_added
        yield f"{counts}{', the baseline added' if is_added else ''}{each}"
    else:
        yield f"{counts}{each}: {type(plan.sweep.search).__name__} chooses as results come"
    limit = getattr(plan.sweep.search, "trials", None)
    if limit is not None and configs is not None and configs < limit:
        yield f"fewer than the {limit:,} asked for: the space has no more"
    yield from _left_out(plan)


def _left_out(plan: Plan) -> Iterator[str]:
    """Yield the configs that are not run, of the space or of those that the search knows."""
    if (candidates := plan.candidates) is None:
        return
    num_infeasible = sum(map(len, plan.cannot_run.values()))
    if not plan.exact and num_infeasible + candidates.num_excluded:
        num_configs = len(candidates.keys) + candidates.num_excluded
        middle = "" if plan.is_whole else " (the middle of each interval taken)"
        yield f"of {num_configs:,} configs of the space{middle}:"
    if candidates.num_merged:
        total = f"{candidates.num_combinations:,} combinations"
        yield f"merged as the same: {candidates.num_merged:,} of {total}"
    if candidates.num_excluded:
        yield f"excluded by the sweep's constraints: {counted(candidates.num_excluded, 'config')}"
    if candidates.num_unseen:
        yield f"not looked at: {counted(candidates.num_unseen, 'other config')} of the grid"
    if plan.cannot_run:
        what_then = "one row each, not run" if plan.exact else "not run if chosen"
        yield f"cannot run here: {counted(num_infeasible, 'config')}, {what_then}"
    varied = domains_of(plan.sweep.space)
    for reason, configs in islice(plan.cannot_run.items(), _NUM_REASONS):
        settings = " ".join(format_setting(name, configs[0][name]) for name in varied)
        yield f"  {len(configs):>5,}  {reason}{f' (as {settings})' if settings else ''}"


def _stopping(plan: Plan) -> Iterator[str]:
    """Yield the rungs, and what happens there."""
    sweep, stopping = plan.sweep, plan.sweep.stopping
    if stopping is None:
        return
    rungs = " and ".join(map(str, stopping.rungs(sweep.epochs)))
    goals = " and ".join(goal.metric for goal in stopping.goals(sweep.objectives))
    yield f"after {rungs} of {counted(sweep.epochs, 'epoch')} configs are compared by {goals}"
    yield f"a trial that is not among the best 1 in {stopping.factor} so far ends there"


def _cores(plan: Plan) -> Iterator[str]:
    nodes = counted(len(plan.machine.nodes), "node")
    gpus = sum(node.gpus for node in plan.machine.nodes)
    reserved = sum(node.reserved_cpus for node in plan.machine.nodes)
    offer = f"{nodes} of {counted(plan.machine.cpus, 'core')}"
    offer += f" and {reserved} kept for the driver and Ray" if reserved else ""
    yield f"{plan.num_cores} a trial; {offer}, {counted(gpus, 'GPU') if gpus else 'no GPU'}"
    yield f"{plan.capacity} at once, {plan.sweep.isolation}"


def _time(plan: Plan) -> str:
    if plan.trial_s is None:
        return (
            "unknown until the first trial has run: no earlier run of this sweep on this data with "
            "this budget, these fixed knobs and cores"
        )
    source = "as the sweep file has it; there is no earlier run like this one"
    if plan.earlier_s:
        source = f"median of {counted(len(plan.earlier_s), 'earlier trial')}"
    return f"{duration(plan.trial_s)} a trial ({source})"


def _budget(plan: Plan, budgets: Budgets) -> Iterator[str]:
    """Yield what the budgets mean for the plan; nothing without any."""
    if not budgets.has_limits:
        return
    limits = ", ".join(words for _, words in budgets.shares(Amount()))
    yield f"{limits}: no trial starts that it has no room for"
    if by := budgets.exceeded_by(least(plan).amount or Amount()):
        yield f"{by} ends the search before its last config: the plan takes more"


def _in_all(plan: Plan) -> str:
    """Return the trials of all stages, least and most, and what they take."""
    low, high = least(plan), most(plan)
    text = _trials(low.trials, None if high is None else high.trials)
    if low.amount is None:
        return f"{text}; how long they take is not known yet: no earlier trials like these"
    times = _span(lambda amount: duration(amount.time_s), low, high)
    hours = _span(lambda amount: amount.core_hours, low, high)
    return f"{text}, about {times}, {hours} core-hours"


def _span(words: Callable[[Amount], str], low: Total, high: Total | None) -> str:
    """Return the amounts of two totals, least and most, in words."""
    amounts = [total.amount for total in (low, high) if total is not None]
    texts = dict.fromkeys(words(amount) for amount in amounts if amount is not None)
    return " to ".join(texts) + (" and more" if high is None else "")


def _trials(low: int, high: int | None) -> str:
    """Return a range of trials in words; ``high`` is None without a limit."""
    if high is None:
        return f"{low:,} trials and more"
    return counted(high, "trial") if low == high else f"{low:,} to {counted(high, 'trial')}"
