"""UTF-8 where the locale has another encoding."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.conftest import ROOT

ASCII = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
PROGRAM = """
import sys
from pathlib import Path
from orchestrator.system.text_encoding import begin_in_utf8

with Path("begun").open("a") as file:
    file.write("x")
begin_in_utf8()
print(sys.argv[1:])
Path(sys.argv[1]).write_text(chr(945))
"""


def test_a_program_begins_again_once_with_its_arguments(tmp_path: Path) -> None:
    for environment, begun in ((ASCII, "xx"), ({"LC_ALL": "C.UTF-8"}, "xxx")):
        (tmp_path / "program.py").write_text(PROGRAM)
        done = subprocess.run(
            [sys.executable, "program.py", "\u00e4 $x", "-b"],
            cwd=tmp_path, env=os.environ | environment | {"PYTHONPATH": str(ROOT)},
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        assert done.stdout == "['\u00e4 $x', '-b']\n"
        assert (tmp_path / "\u00e4 $x").read_text() == chr(945)
        assert (tmp_path / "begun").read_text() == begun
