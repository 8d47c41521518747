"""``--resume --plan`` where the run's sweep file may not run: its record alone, which is data."""

from __future__ import annotations

import sys

from orchestrator.driver.options.options import Options
from orchestrator.driver.planning.text import labelled, note
from orchestrator.errors import RunDirectoryError
from orchestrator.formats import counted
from orchestrator.kernel.journal import read_journal
from orchestrator.storage.files import RunFile
from orchestrator.storage.history import read_history
from orchestrator.storage.sweep_record import read_sweep


def print_plan_of_record(given: Options) -> bool:
    """Print what the record of a run has of its plan; return False if its own file has it all.

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
    roles = {name: f" [{knob.role}]" for name, knob in record.knobs.items()}
    journal = given.resume / RunFile.JOURNAL
    states = read_history(read_journal(journal) if journal.exists() else ()).states
    lines = labelled({
        "sweep": [record.question, f"{record.trainable}, {counted(record.budget.epochs, 'epoch')}"],
        "varied": [f"{name}: {text}{roles.get(name, '')}" for name, text in record.space.items()],
        "search": [record.search],
        "in all": ["no known end" if (num := record.num_planned) is None else f"{num:,} trials"],
        "done": [f"{counted(num, 'trial')} {state}" for state, num in states.items()] or ["none"],
    })  # fmt: skip
    sys.stdout.write("\n".join([note(f"{why}; this is the record alone"), *lines]) + "\n")
    return True
