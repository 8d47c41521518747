"""The journal of a run that another node writes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

Event = dict[str, Any]


def events(run: Path) -> list[Event]:
    """Return the events so far; none before there is a journal."""
    journal = run / "journal.jsonl"
    lines = journal.read_text().splitlines(keepends=True) if journal.exists() else []
    return [json.loads(line) for line in lines if line.endswith("\n")]
