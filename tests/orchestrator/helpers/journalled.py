"""Events made from plain fields, and journals read as plain lines."""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from orchestrator.kernel.events import Event, decode
from orchestrator.kernel.journal import Journal


def event_of(fields: Mapping[str, Any]) -> Event:
    """Return the event of a line with these fields."""
    event = decode(json.dumps(fields, default=vars).encode())
    assert event is not None, "its kind is known"
    return event


def append(journal: Journal, word: str, **content: object) -> Event:
    """Append an event by its name."""
    return journal.append(event_of({"at": 0.0, "event": word, **content}))


def lines_of(journal: Path) -> list[dict[str, Any]]:
    """Return the whole lines of a journal."""
    lines = journal.read_bytes().splitlines(keepends=True) if journal.exists() else []
    return [json.loads(line) for line in lines if line.endswith(b"\n")]


def replace_in(journal: Path, *pairs: tuple[str, str]) -> None:
    """Replace texts in a journal, or in ``sweep.json``, as by hand: without checksums."""
    text = re.sub(r',"line":\d+,"crc":"[0-9a-f]{8}"\}$', "}", journal.read_text(), flags=re.M)
    for then, now in pairs:
        text = text.replace(then, now)
    journal.write_text(text)
