"""``--plan``: print what would run, and start nothing."""

from __future__ import annotations

import sys
import time
from collections import Counter
from dataclasses import replace

from orchestrator.data import DataHeaders
from orchestrator.driver.budgets import Amount, Budgets
from orchestrator.driver.options.options import Options
from orchestrator.driver.planning.plan import planned
from orchestrator.driver.planning.spending import Spending
from orchestrator.driver.planning.text import labelled, note, plan_lines
from orchestrator.driver.planning.totals import require_room
from orchestrator.driver.record import question_record
from orchestrator.driver.request import Request, read_request
from orchestrator.driver.resume import Past, read_past
from orchestrator.errors import refusing_os_errors
from orchestrator.execution.placement import cap_note
from orchestrator.formats import counted, percent
from orchestrator.search.own import started
from orchestrator.sweep.problem import search_problem
from orchestrator.trial import TrialState


def print_plan(given: Options) -> int:
    """Print what would run; return the exit code."""
    with refusing_os_errors():
        request = read_request(given)
        dataset, folders, headers = request.dataset, request.folders, None
        if dataset is not None and dataset.present(folders):
            headers = dataset.headers(folders)
    options, machine, sweep = request.options, request.here, request.sweep
    question = question_record(sweep, request.file)
    past = trials = configs = None
    if options.resume is not None:
        past = read_past(options.resume, question)
        trials = past.extension(request.trials, sweep)
        configs = trials or past.extended_to
    plan = planned(request, machine, headers.name if headers else "", configs)
    if past is None:
        require_room(plan, request.budgets)
    elif past.record is not None and not options.address:  # a cluster's cores are not known here
        name = past.record.data if headers is None else headers.name
        past.require_same(replace(question, cores_per_trial=plan.num_cores, data=name), "ground")
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
    if past is not None and past.events:
        spending = Spending(request.budgets, plan, time.time)
        for event in past.events:
            spending.apply(event)
        extends = (
            trials is not None and started(sweep.search, search_problem(sweep, machine)).extends
        )
        past.require_more(trials, spending.cut_by, extends=extends)
        lines += lines_of_the_past(past, spending.of_the_past(), request.budgets)
    sys.stdout.write("\n".join(lines) + "\n")
    return 0


def _data_line(request: Request, headers: DataHeaders | None) -> str:
    """Return the data set in words: what its headers contain, or that they were not read."""
    if request.dataset is None:
        return ""
    if headers is None:
        return f"{request.dataset.name}, to be downloaded: not read yet"
    counts = ", ".join(f"{count:,} {name}" for name, count in headers.facts.items())
    read = f" ({counts}, by its headers; nothing is converted yet)" if counts else ""
    return f"{headers.name}{read}"


def lines_of_the_past(past: Past, spent: Amount, budgets: Budgets) -> list[str]:
    """Return the lines of what is done, and what was spent.

    Args:
        past: The run so far.
        spent: What its trials took.
        budgets: Its budgets, larger ones given now included.
    """
    states = Counter(past.states.values())
    done = counted(states.total() - states.get(TrialState.NOT_RUN, 0), "trial")
    in_states = ", ".join(f"{num} {state.replace('_', ' ')}" for state, num in states.items())
    shares = (f"{percent(share)} of {words}" for share, words in budgets.shares(spent))
    return labelled({"done": [f"{done}: {in_states}".rstrip(": ")], "spent": [str(spent), *shares]})
