"""``front``: the configs that no other one beats, by figures of the user's choice."""

from __future__ import annotations

import argparse

import pandas as pd

from orchestrator.analysis.api.checks import column_named, objectives_of
from orchestrator.analysis.api.fronts import pareto_front
from orchestrator.analysis.api.runs import configs
from orchestrator.analysis.columns import TableError
from orchestrator.analysis.commands.documents import rows_of, write_document
from orchestrator.analysis.commands.sources import loaded
from orchestrator.analysis.comparable import GROUP
from orchestrator.analysis.report.console import show_front
from orchestrator.errors import SweepError
from orchestrator.metrics import Objective


def run(options: argparse.Namespace) -> int:
    """Print the front; return 0, also where it is empty.

    Raises:
        SweepError: There is no such run, or an objective is unknown.
    """
    tables = loaded(options.run, options.tracking_uri)
    table = configs(tables)
    table = table[table[GROUP] == tables.main_group]
    objectives = _objectives(options.objectives, table)
    front = pareto_front(table, objectives) if len(table) else table
    if options.json:
        directions = [{"metric": o.metric, "goal": str(o.goal)} for o in objectives]
        rows = rows_of(front.drop(columns=["trial_ids", "timed_ids"]), tables.sweep)
        write_document(
            "front", {"sweep": tables.sweep.name, "objectives": directions, "front": rows}
        )
    else:
        show_front(front, objectives, tables.sweep)
    return 0


def _objectives(text: str | None, table: pd.DataFrame) -> tuple[Objective, ...]:
    """Return the objectives of the option; the sweep's own without it.

    Raises:
        SweepError: One is unknown, is no number, or does not say which way is better.
    """
    names = None if text is None else [name.strip() for name in text.split(",")]
    if names is not None and "" in names:
        raise SweepError(
            f"--objectives: {text!r} has an empty name", "names of figures, a comma between them"
        )
    if names is not None and len(set(names)) < len(names):
        raise SweepError(f"--objectives: {text!r} names a figure twice", "name each one once")
    try:
        for name in names or ():
            column_named(table, name.rpartition(":")[2], "--objectives")
        return objectives_of(names, table, "--objectives")
    except TableError as error:
        hint = error.hint
        if "an." in hint:
            name = error.message.split("'")[1]
            hint = f"write maximize:{name} or minimize:{name}"
        raise SweepError(error.message.replace("the frame has", "the run has"), hint) from None
