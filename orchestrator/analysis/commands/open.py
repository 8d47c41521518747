"""``open``: a run's report in the browser."""

from __future__ import annotations

import argparse
import os
import sys
import webbrowser

from orchestrator.analysis.commands.documents import write_document
from orchestrator.analysis.commands.sources import run_directory
from orchestrator.arguments import typed
from orchestrator.errors import RunDirectoryError
from orchestrator.locations import short
from orchestrator.storage.files import RunFile


def run(options: argparse.Namespace) -> int:
    """Open the report, or print its path where there is no browser; return 0.

    Raises:
        RunDirectoryError: There is no such run, or it has no report.
    """
    folder = run_directory(options.run)
    report = (folder / RunFile.REPORT).absolute()
    if not report.is_file():
        raise RunDirectoryError(
            f"{folder}: has no {RunFile.REPORT}",
            f"this writes it: {typed('orchestrator.analysis', [folder])}",
        )
    is_open = _has_browser() and webbrowser.open(report.as_uri())
    if options.json:
        write_document("open", {"report": report, "opened": is_open})
    else:
        sys.stdout.write(f"{short(report)}\n")
    return 0


def _has_browser() -> bool:
    """Return True where a browser with windows can start: one of text cannot draw the report."""
    names = ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER")
    return sys.platform != "linux" or any(os.environ.get(name) for name in names)
