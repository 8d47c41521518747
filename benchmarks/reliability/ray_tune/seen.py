"""What a function saw of its config and its folder, told to the suite by a file."""

from __future__ import annotations

import json
import os
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

FOLDER: Final = "RAY_TUNE_SEEN"
"""Name of the environment's variable with the folder of these files."""


def tell(name: str, config: object, **beside: object) -> None:
    """Write what the function of a case sees."""
    content = {
        "case": name,
        "config": described(config),
        "files": sorted(p.name for p in Path().iterdir()),
        **beside,
    }
    path = Path(os.environ[FOLDER]) / f"{uuid.uuid4().hex}.json"
    path.write_text(json.dumps(content))


def told(folder: Path) -> dict[str, list[dict[str, Any]]]:
    """Return what was written, by case."""
    by_case: dict[str, list[dict[str, Any]]] = {}
    for path in sorted(folder.glob("*.json"), key=lambda path: path.stat().st_mtime_ns):
        content = json.loads(path.read_text())
        by_case.setdefault(content.pop("case"), []).append(content)
    return by_case


def described(value: Any) -> str:  # noqa: ANN401 - any object
    """Return an object with the types of all that is in it; floats to twelve digits."""
    kind = type(value)
    if isinstance(value, Mapping):
        items = sorted(f"{described(key)}: {described(item)}" for key, item in value.items())
        return f"{kind.__name__}{{{', '.join(items)}}}"
    if isinstance(value, (list, tuple)):
        return f"{kind.__name__}[{', '.join(map(described, value))}]"
    if isinstance(value, (set, frozenset)):
        return f"{kind.__name__}({', '.join(sorted(map(described, value)))})"
    if isinstance(value, float):
        return f"{kind.__name__}({value:.12g})"
    if callable(value):
        return f"{kind.__name__}({getattr(value, '__name__', '')})"
    return f"{kind.__name__}({value!r})"
