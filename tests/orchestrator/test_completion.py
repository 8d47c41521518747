"""Completion as bash asks for it: by its function for the program, at the end of a line."""

import os
import sys
from pathlib import Path

import pytest

from orchestrator.cli import completing
from tests.helping import ran

EXPECTED = {
    "orchestrator tr": "train ",
    "orchestrator pl": "plan ",
    "orchestrator my_": "my_sweep.py ",
    "orchestrator plan o": "other/",
    "orchestrator --tria": "--trials ",
    "orchestrator my_sweep.py --executor ": "ray inline replay",
    "orchestrator run my_sweep.py --search so": "sobol ",
    "orchestrator my_sweep.py --trials ": "",
    "orchestrator --resume ": "runs/my/two runs/my/one",
    "orchestrator show runs/my/o": "runs/my/one ",
    "orchestrator compare runs/my/one runs/my/t": "runs/my/two ",
    "orchestrator train --sa": "--save ",
    "orchestrator judge HEAD~1 HEAD m": "my_sweep.py ",
}
"""The completion of each line."""

ASK = """
eval "$(register-python-argcomplete orchestrator)"
ask() {
    COMP_LINE="$1" COMP_POINT=${#1} COMP_TYPE=9 COMPREPLY=()
    _python_argcomplete orchestrator
    echo "${COMPREPLY[*]}"
}
while IFS= read -r line; do ask "$line"; done
"""


def test_a_shell_completes_commands_options_names_files_and_runs(tmp_path: Path) -> None:
    for name in ("my_sweep.py", "notes.txt", "other/x.txt", "bin/orchestrator"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    for number, run in enumerate(("one", "two")):
        journal = tmp_path / "runs" / "my" / run / "journal.jsonl"
        journal.parent.mkdir(parents=True)
        journal.touch()
        os.utime(journal, (number, number))
    program = tmp_path / "bin" / "orchestrator"
    program.write_text(
        f"#!{sys.executable}\nfrom orchestrator.__main__ import run\nrun()\n"
    )  # as an installer makes it
    program.chmod(0o755)
    path = os.pathsep.join([str(program.parent), str(Path(sys.executable).parent)])
    lines = "".join(f"{line}\n" for line in EXPECTED)
    path = f"{path}{os.pathsep}{os.environ['PATH']}"
    done = ran("bash", "-c", ASK, cwd=tmp_path, input=lines, variables={"PATH": path})

    assert dict(zip(EXPECTED, done.stdout.splitlines(), strict=True)) == EXPECTED, done.stderr


def test_a_run_by_hand_completes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("_ARGCOMPLETE", raising=False)
    assert completing() is None
