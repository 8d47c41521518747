"""``analysis``, the short name that the checkout has for ``orchestrator.analysis``."""

from __future__ import annotations

import subprocess
import sys

from tests.helping import ROOT


def test_the_short_name_has_what_the_package_has() -> None:
    code = "import analysis as an, orchestrator.analysis as its; assert an.load is its.load"
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)


def test_the_short_name_is_the_command_too() -> None:
    shown = [
        subprocess.run(
            [sys.executable, "-m", module, "--help"], cwd=ROOT, check=True, capture_output=True
        ).stdout
        for module in ("analysis", "orchestrator.analysis")
    ]
    assert shown[0] == shown[1]
    assert b"compare" in shown[0]
