"""``export``: a run's tables as files for other programs."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from orchestrator.analysis.api.files import export
from orchestrator.analysis.commands.documents import write_document
from orchestrator.analysis.commands.sources import loaded
from orchestrator.errors import SweepError
from orchestrator.locations import short
from orchestrator.storage.files import RunFile


def run(options: argparse.Namespace) -> int:
    """Write the files and print their paths; return 0.

    Raises:
        SweepError: There is no such run or format, the files would replace those of a run, or their
            folder is a link of another user's.
    """
    folder = _folder(options)
    files = export(loaded(options.run, options.tracking_uri), folder, options.format)
    if options.json:
        write_document("export", {"files": [path.absolute() for path in files]})
    else:
        sys.stdout.writelines(f"{short(path)}\n" for path in files)
    return 0


def _folder(options: argparse.Namespace) -> Path:
    folder: Path | None = options.out
    if folder is None:
        if options.tracking_uri is not None:
            raise SweepError("a run from MLflow has no folder to export to", "give --out DIR")
        return Path(options.run) / "export"
    if (folder / RunFile.SWEEP).exists():
        raise SweepError(
            f"{folder}: is a run's own folder; the export would replace its tables",
            "give another folder",
        )
    return folder
