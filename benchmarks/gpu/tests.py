"""The tests marked ``gpu``, through pytest, and what became of each file's."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from xml.etree import ElementTree

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).parent
GPU_MARKS = ("pytest.mark.gpu", "ON_TWO_GPUS")
"""A file with such tests contains this text."""


@dataclass(kw_only=True)
class Tally:
    """Outcomes of a test file's tests.

    Attributes:
        counts: ``passed``, ``failed`` and ``skipped``.
        failures: Names of those that failed, with the first line of the message.
    """

    counts: Counter[str] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)


def files_with_gpu_tests() -> list[Path]:
    """Test files of which some tests need a GPU; the others may need packages not here."""
    files = sorted((ROOT / "tests").rglob("test_*.py"))
    return [file for file in files if any(mark in file.read_text() for mark in GPU_MARKS)]


def run_gpu_tests() -> dict[str, Tally]:
    """Run them and return a tally by file."""
    with tempfile.TemporaryDirectory(prefix="gpu-tests-") as scratch:
        results = Path(scratch) / "results.xml"
        command = [
            *(sys.executable, "-m", "pytest", "-c", HERE / "pytest.ini", f"--rootdir={ROOT}"),
            *("-p", "benchmarks.gpu.stand_in", "-m", "gpu", "-q", f"--junit-xml={results}"),
            *files_with_gpu_tests(),
        ]
        done = subprocess.run(
            [str(part) for part in command], cwd=ROOT, env=dict(os.environ), check=False
        )
        if not results.exists():
            failure = f"pytest ended with exit code {done.returncode} before it ran a test"
            return {"pytest": Tally(counts=Counter(failed=1), failures=[failure])}
        return tallies(results.read_text())


def tallies(junit_xml: str) -> dict[str, Tally]:
    """The tally of each file in pytest's JUnit report."""
    found: dict[str, Tally] = {}
    for case in ElementTree.fromstring(junit_xml).iter("testcase"):
        file = case.get("classname", "").removeprefix("tests.").replace(".", "/") + ".py"
        tally = found.setdefault(file, Tally())
        problems = [*case.findall("failure"), *case.findall("error")]
        if problems:
            said = problems[0].get("message", "").strip().splitlines() or ["no message"]
            tally.failures.append(f"{case.get('name')}: {said[0][:300]}")
        is_skipped = case.find("skipped") is not None
        tally.counts["failed" if problems else "skipped" if is_skipped else "passed"] += 1
    return found
