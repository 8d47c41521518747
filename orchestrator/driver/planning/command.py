"""``--plan``: print what would run, and start nothing."""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from orchestrator.data import DataHeaders
from orchestrator.driver.budgets.budgets import Amount, Budgets
from orchestrator.driver.budgets.limits import Limits
from orchestrator.driver.options.options import Options
from orchestrator.driver.planning.plan import Plan, extended, make_spending, planned
from orchestrator.driver.planning.text import (
    core_hours,
    labelled,
    note,
    plan_lines,
    trials_between,
)
from orchestrator.driver.planning.totals import last_states, require_room, what_is_left
from orchestrator.driver.record import question_record
from orchestrator.driver.request import Request, read_request
from orchestrator.driver.resume import (
    events_of,
    extension,
    first_record,
    has_ended,
    last_extension,
    require_more,
    require_same,
)
from orchestrator.errors import refusing_os_errors
from orchestrator.execution.placement import cap_note, cores_of_trial
from orchestrator.formats import counted, duration, percent
from orchestrator.kernel.events import Asked, Continued, Event
from orchestrator.search.own import started
from orchestrator.sweep.problem import search_problem
from orchestrator.trial import Stage, TrialState


def print_plan(given: Options) -> int:
    """Print what would run; return the exit code."""
    with refusing_os_errors():
        request = read_request(given)
        dataset, folders, headers = request.dataset, request.folders, None
        if dataset is not None and dataset.present(folders):
            headers = dataset.headers(folders)
    options, machine = request.options, request.here
    past = _past(request, headers)
    trials = extension(request.trials, request.sweep, past)
    extends = trials is not None and _extends(request)
    request = extended(request, trials or last_extension(past))
    sweep = request.sweep
    plan = planned(request, machine, headers.name if headers else "")
    if request.before is None:
        require_room(plan, request.budgets)
    elsewhere = "planned for this machine; the cluster at --address is not asked"
    notes = [
        request.data_note,
        cap_note(sweep.cores_per_trial, machine),
        elsewhere if options.address else "",
        *request.warm_start.notes,
    ]
    lines = [
        *map(note, filter(None, notes)),
        *plan_lines(plan, _data_line(request, headers), request.budgets),
    ]
    if past:
        assert options.resume is not None, "a run that has begun is resumed"
        spending = make_spending(request, plan, time.time)
        limits = Limits(spending)
        for event in past:
            limits.apply(event)
        require_more(options.resume, past, trials, limits, extends=extends)
        is_over = has_ended(past) and TrialState.NOT_RUN not in last_states(past).values()
        continues = trials is not None or limits.has_more
        searches = continues or not (is_over or _confirms(past))
        spent = spending.of_the_past()
        lines += lines_of_the_rest(plan, past, spent, request.budgets, searches=searches)
    sys.stdout.write("\n".join(lines) + "\n")
    return 0


def _past(request: Request, headers: DataHeaders | None) -> list[Event]:
    """Return the events of the run that is planned to be resumed; none of a new one.

    Raises:
        RunDirectoryError: It has another question, other data or other cores.
    """
    if (run_dir := request.options.resume) is None:
        return []
    record = question_record(request.sweep, request.file)
    past = events_of(run_dir, record)
    before = first_record(past, run_dir)
    if before is not None and not request.options.address:  # a cluster's cores are not known here
        cores = cores_of_trial(request.sweep.cores_per_trial, request.here)
        name = before.data if headers is None else headers.name
        record = replace(record, cores_per_trial=cores, data=name)
        require_same(record, before, "ground", run_dir)
    return past


def _extends(request: Request) -> bool:
    """Return True if the search can continue to more configs."""
    return started(request.sweep.search, search_problem(request.sweep, request.here)).extends


def _data_line(request: Request, headers: DataHeaders | None) -> str:
    """Return the data set in words: what its headers contain, or that they were not read."""
    if request.dataset is None:
        return ""
    if headers is None:
        return f"{request.dataset.name}, to be downloaded: not read yet"
    counts = ", ".join(f"{count:,} {name}" for name, count in headers.facts.items())
    read = f" ({counts}, by its headers; nothing is converted yet)" if counts else ""
    return f"{headers.name}{read}"


# -- of a run that has begun


def _confirms(past: Sequence[Event]) -> bool:
    """Return True if the search of a run is over: it has begun to confirm, and not continued."""
    confirms = False
    for event in past:
        if isinstance(event, Asked):
            confirms |= event.trial.stage is Stage.CONFIRM
        elif isinstance(event, Continued):
            confirms = False
    return confirms


def lines_of_the_rest(
    plan: Plan, past: Sequence[Event], spent: Amount, budgets: Budgets, *, searches: bool
) -> list[str]:
    """Return the lines of what is done, what was spent, and what is left.

    Args:
        plan: The plan of the whole run.
        past: Events of the run so far.
        spent: What its trials took.
        budgets: Its budgets, larger ones given now included.
        searches: True if its search continues.
    """
    states = Counter(last_states(past).values())
    num_not_run = states[TrialState.NOT_RUN]
    done = counted(states.total() - num_not_run, "trial")
    in_states = [f"{number} {state.replace('_', ' ')}" for state, number in states.items()]
    if has_ended(past) and not num_not_run and not searches:
        left = ["nothing: the run has ended"]
    else:
        low, *high = what_is_left(plan, past, searches=searches)
        amounts = [rest.amount for rest in (low, *high) if rest.amount is not None]
        times = dict.fromkeys(duration(amount.time_s) for amount in amounts)
        expected = f", about {' to '.join(times)}" if times else ""
        left = [f"{trials_between(low.trials, high[0].trials if high else None)}{expected}"]
        if num_not_run:
            left.append(f"{counted(num_not_run, 'trial')} had no room in the budget")
    return labelled(
        {
            "done": [": ".join(filter(None, [done, ", ".join(in_states)]))],
            "spent": [
                f"{duration(spent.time_s)}, {core_hours(spent)} core-hours",
                *(f"{percent(share)} of {words}" for share, words in budgets.shares(spent)),
            ],
            "left": left,
        }
    )
