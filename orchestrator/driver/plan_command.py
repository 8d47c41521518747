"""``--plan``: print what would run, and start nothing."""

from __future__ import annotations

import sys

from orchestrator.data import DataHeaders
from orchestrator.driver.options import Options
from orchestrator.driver.plan_text import note, plan_lines
from orchestrator.driver.plan_totals import require_room
from orchestrator.driver.planning import planned
from orchestrator.driver.request import (
    Request,
    data_headers,
    other_set_note,
    read_request,
)
from orchestrator.errors import refusing_os_errors
from orchestrator.execution.placement import cap_note, local_machine


def print_plan(given: Options) -> int:
    """Print what would run; return the exit code."""
    with refusing_os_errors():
        request = read_request(given)
        headers = data_headers(request)
    options, machine, sweep = request.options, local_machine(), request.sweep
    plan = planned(request, machine, headers.name if headers else "")
    if request.before is None:
        require_room(plan, options.budgets)
    elsewhere = "planned for this machine; the cluster at --address is not asked"
    notes = [
        request.data_note,
        other_set_note(request, headers.name) if headers else "",
        cap_note(sweep.cores_per_trial, machine),
        elsewhere if options.address else "",
    ]
    lines = [
        *map(note, filter(None, notes)),
        *plan_lines(plan, _data_line(request, headers), options.budgets),
    ]
    sys.stdout.write("\n".join(lines) + "\n")
    return 0


def _data_line(request: Request, headers: DataHeaders | None) -> str:
    """Return the data set in words: what its headers say, or that they were not read."""
    if request.dataset is None:
        return ""
    if headers is None:
        return f"{request.dataset.name}, to be downloaded: not read yet"
    counts = ", ".join(f"{count:,} {name}" for name, count in headers.facts.items())
    read = f" ({counts}, by its headers; nothing is converted yet)" if counts else ""
    return f"{headers.name}{read}"
