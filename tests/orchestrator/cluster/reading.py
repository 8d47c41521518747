"""The journal of a run that another node writes."""

import json
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

Event = dict[str, Any]

EVENT_S = 300.0


def events(run: Path) -> list[Event]:
    """Return the events so far; none before there is a journal."""
    journal = run / "journal.jsonl"
    lines = journal.read_text().splitlines(keepends=True) if journal.exists() else []
    return [json.loads(line) for line in lines if line.endswith("\n")]


def await_in(run: Path, found: Callable[[list[Event]], bool], what: str) -> None:
    """Wait for events."""
    deadline = time.monotonic() + EVENT_S
    while not found(events(run)):
        kinds = Counter(str(event["event"]) for event in events(run))
        assert time.monotonic() < deadline, f"{what}: {kinds}"
        time.sleep(0.1)


def running_on(events: list[Event]) -> dict[str, str]:
    """Return the node of each trial that runs."""
    running: dict[str, str] = {}
    for event in events:
        if event["event"] == "started":
            running[str(event["trial_id"])] = str(event["node"])
        elif event["event"] == "finished":
            running.pop(str(event["trial_id"]), None)
    return running
