"""``--plan``: print what would run, and start nothing."""

from __future__ import annotations

import sys

from orchestrator.data import DataHeaders
from orchestrator.driver.executors import EXECUTORS
from orchestrator.driver.options import Options
from orchestrator.driver.plan import make_plan
from orchestrator.driver.plan_text import note, plan_lines
from orchestrator.driver.request import (
    DEFAULT_RUNS,
    Request,
    data_headers,
    other_set_note,
    read_request,
)
from orchestrator.errors import refusing_os_errors
from orchestrator.execution.placement import cap_note, cores_of_trial, local_machine


def print_plan(given: Options) -> int:
    """Print what would run; return the exit code."""
    with refusing_os_errors():
        request = read_request(given)
        headers = data_headers(request)
    options, machine, sweep = request.options, local_machine(), request.sweep
    one_at_a_time = EXECUTORS[options.executor_name].one_at_a_time
    plan = make_plan(
        sweep,
        machine,
        num_cores=cores_of_trial(sweep.cores_per_trial, machine),
        max_concurrent=1 if one_at_a_time else options.max_concurrent,
        runs=DEFAULT_RUNS / request.file.stem,
        data=headers.name if headers else "",
    )
    elsewhere = "planned for this machine; the cluster at --address is not asked"
    notes = [
        request.data_note,
        other_set_note(request, headers.name) if headers else "",
        cap_note(sweep.cores_per_trial, machine),
        elsewhere if options.address else "",
    ]
    lines = [*map(note, filter(None, notes)), *plan_lines(plan, data=_data_line(request, headers))]
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
