"""The figure of ``make coverage`` that the repository has."""

from __future__ import annotations

from tests.kept_coverage import by_package


def test_lines_are_counted_by_package_and_in_all() -> None:
    sizes = {
        "orchestrator/cli.py": (1, 2),
        "orchestrator/space/knobs.py": (3, 3),
        "orchestrator/space/deep/down.py": (0, 1),
        "trainables/lenet.py": (2, 2),
    }
    files = {
        name: {"summary": {"covered_lines": covered, "num_statements": statements}}
        for name, (covered, statements) in sizes.items()
    }
    assert [line.split() for line in by_package({"files": files})] == [
        ["50.0", "%", "orchestrator"],
        ["75.0", "%", "orchestrator.space"],
        ["100.0", "%", "trainables"],
        ["75.0", "%", "all"],
    ]
