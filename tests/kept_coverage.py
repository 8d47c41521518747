"""The coverage of lines by package, for ``tests/coverage.txt``: see ``make coverage``."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import defaultdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any


def by_package(report: dict[str, Any]) -> list[str]:
    """Return a line a package, and one of all, of what ``coverage json`` has written."""
    counts: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for name, file in report["files"].items():
        parts = Path(name).parts
        package = ".".join(parts[:2]) if len(parts) > 2 else parts[0]
        for key in (package, "all"):
            counts[key][0] += file["summary"]["covered_lines"]
            counts[key][1] += file["summary"]["num_statements"]
    names = [*sorted(counts.keys() - {"all"}), "all"]
    return [f"{100 * counts[name][0] / (counts[name][1] or 1):5.1f} %  {name}" for name in names]


def main(path: str) -> None:
    """Print the date, the commit and the coverage."""
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=True
    ).stdout.strip()
    print(f"{datetime.now(UTC):%Y-%m-%d}, commit {commit}: lines that the tests run")
    print("\n".join(by_package(json.loads(Path(path).read_text()))))


if __name__ == "__main__":
    main(sys.argv[1])
