"""The times of steps, kept apart from the journal: ``steps.jsonl`` and the table made of it.

The file is written like the journal, line by line as trials report. ``event`` is ``blocks`` or
``started``, which makes the trial's earlier blocks void. A resumed sweep does not need the file:
only the table is made of it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Iterable
from pathlib import Path

import pandas as pd

from orchestrator.kernel.events import Event, Started, Timed
from orchestrator.kernel.journal import read_steps
from orchestrator.measurement.blocks import Block, Dropped
from orchestrator.measurement.throughput import warm_up
from orchestrator.storage.files import RunFile

_DTYPES = {
    "trial_id": "str", "epoch": "Int64", "first_step": "Int64", "num_steps": "Int64",
    "samples": "Int64", "duration_s": "float64", "dropped": "str",
}  # fmt: skip


def steps_table(run_dir: Path, trial_ids: Container[str]) -> pd.DataFrame:
    """Return one row a block of steps of the trials named, in the order of their first report.

    Columns: ``trial_id``, ``epoch``, ``first_step`` (within the epoch), ``num_steps``,
    ``samples``, ``duration_s`` and ``dropped``: empty, or why the block is not part of
    ``samples_per_s`` (see :class:`~orchestrator.measurement.blocks.Dropped`).
    """
    path = run_dir / RunFile.STEPS
    events = read_steps(path) if path.exists() else ()
    rows = [
        row
        for trial_id, blocks in _by_trial(events).items()
        if trial_id in trial_ids
        for row in _rows(trial_id, blocks)
    ]
    return pd.DataFrame(rows, columns=list(_DTYPES)).astype(_DTYPES)


def _by_trial(events: Iterable[Event]) -> dict[str, list[Block]]:
    blocks: dict[str, list[Block]] = defaultdict(list)
    for event in events:
        if isinstance(event, Started):
            blocks.pop(event.trial_id, None)
        elif isinstance(event, Timed):
            blocks[event.trial_id] += map(Block.from_row, event.blocks)
    return blocks


def _rows(trial_id: str, blocks: list[Block]) -> Iterable[tuple[object, ...]]:
    num_cold = warm_up([block for block in blocks if block.end is None])
    num_running = 0
    for block in blocks:
        dropped = block.end
        if dropped is None:
            dropped = Dropped.WARM_UP if num_running < num_cold else None
            num_running += 1
        place = (block.epoch, block.first_step, block.num_steps, block.samples)
        yield trial_id, *place, block.duration_s, None if dropped is None else str(dropped)
