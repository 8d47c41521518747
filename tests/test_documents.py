"""The pages' Python: every fenced snippet runs, as a reader would run it.

A snippet with a first line that names a file (``# sweeps/mine.py``) is that file; the page's others
are run in order, in the folder of these files. Exceptions are marked in the line before:

- ``<!-- needs: lightning -->``: a package that may be absent, where the snippet is skipped.
- ``<!-- shown by: tests/test_x.py -->``: a test that runs it.

``...`` as the first argument of ``Sweep`` stands for the sweep at the top of its page.
"""

import json
import re
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.conftest import ROOT, RunCli
from tests.orchestrator.helpers.in_process import run_main

PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
_SNIPPET = re.compile(r"^(?:<!-- (.*?) -->\n)?```python\n(.*?)^```", re.M | re.S)
_FILE = re.compile(r"# (\S+\.py)\n")


@dataclass(frozen=True, kw_only=True)
class Snippet:
    """A fenced block of Python: its first line on the page, its text, the mark in the line before.

    Its own first line may give the path of a file.
    """

    line: int
    code: str
    mark: str

    @property
    def file(self) -> str:
        found = _FILE.match(self.code)
        return found[1] if found else ""

    def marked(self, kind: str) -> str:
        return self.mark.removeprefix(f"{kind}: ") if self.mark.startswith(f"{kind}: ") else ""


def snippets(page: Path) -> list[Snippet]:
    text = page.read_text(encoding="utf-8")
    return [
        Snippet(line=text.count("\n", 0, m.start(2)) + 1, code=m[2], mark=m[1] or "")
        for m in _SNIPPET.finditer(text)
    ]


RUN_HERE = {
    str(page.relative_to(ROOT)): here
    for page in PAGES
    if (here := [each for each in snippets(page) if not each.marked("shown by")])
}
SWEEPS = [
    pytest.param(name, snippet, id=f"{name}:{Path(snippet.file).stem}")
    for name, found in RUN_HERE.items()
    for snippet in found
    if snippet.file.startswith("sweeps/")
]


def write_files(name: str, folder: Path) -> None:
    """Write the files of a page's snippets below ``folder``."""
    for snippet in RUN_HERE[name]:
        if snippet.file:
            path = folder / snippet.file
            path.parent.mkdir(exist_ok=True)
            path.write_text(snippet.code)


def others_of(name: str) -> list[Snippet]:
    """Return the snippets of a page that are no files."""
    return [snippet for snippet in RUN_HERE[name] if not snippet.file]


CARRIED_OUT = """
import dataclasses, pathlib, runpy
from orchestrator.sweep.checks import sweep_problems
names = {"changed": dataclasses.replace}
for file in TOP:
    names |= runpy.run_path(file)
for page, code in SNIPPETS:
    top = names.get("SWEEP")
    exec(compile(code.replace("Sweep(...,", "changed(SWEEP,"), page, "exec"), names)
    if names.get("SWEEP") is not top:
        assert sweep_problems(names["SWEEP"], pathlib.Path(page)) == []
"""


def run_others(name: str, folder: Path, run_cli: RunCli) -> None:
    """Run the snippets of a page that are no files, in order and in one process."""
    others = others_of(name)
    top = [snippet.file for snippet in RUN_HERE[name] if snippet.file.startswith("sweeps/")][:1]
    # The lines of an error are then the page's.
    codes = [(name, "\n" * (snippet.line - 1) + snippet.code) for snippet in others]
    script = f"TOP, SNIPPETS = {top!r}, {codes!r}\n{CARRIED_OUT}"
    (folder / "snippets_of_a_page.py").write_text(script)
    run_cli(module="snippets_of_a_page")


@pytest.mark.parametrize("name", [name for name in RUN_HERE if others_of(name)])
def test_the_snippets_of_a_page_run(name: str, tmp_path: Path, run_cli: RunCli) -> None:
    write_files(name, tmp_path)
    run_others(name, tmp_path, run_cli)


# -- sweep files, by the command on their page

QUICKLY = ["--executor", "inline", "--no-mlflow", "--isolation", "shared", "--out", "run"]
QUICKLY += ["--search", "random", "--trials", "2", "--set", "rigor.confirm=0"]


def command(page: str, file: str) -> list[str]:
    """Return the arguments with which a page runs a sweep file: the shortest of its commands."""
    text = (ROOT / page).read_text()
    line = rf"^    (?:\.venv/bin/)?(?:python -m )?orchestrator ({re.escape(file)}.*?)(?:  +#.*)?$"
    commands = [found.split() for found in re.findall(line, text, re.M)]
    assert commands, f"{page} has no command that runs {file}"
    return min((words for words in commands if "--plan" not in words), key=len)


def ready(page: str, sweep: Snippet, folder: Path, run_cli: RunCli) -> list[str]:
    """Write what a sweep of a page needs into a folder; return the arguments of its command."""
    needs = sweep.marked("needs")
    if needs and not find_spec(needs):
        pytest.skip(f"{needs} is not installed: requirements-integrations.in names it")
    write_files(page, folder)
    arguments = command(page, sweep.file)
    if "--data-root" in arguments:  # another snippet writes what is there
        run_others(page, folder, run_cli)
    return arguments


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize(("name", "sweep"), SWEEPS)
def test_sweeps_of_a_page_run(name: str, sweep: Snippet, tmp_path: Path, run_cli: RunCli) -> None:
    run_cli(*ready(name, sweep, tmp_path, run_cli), *QUICKLY, timeout_s=280, page=True)
    assert (tmp_path / "run/report.html").exists()
    recommended = json.loads((tmp_path / "run/recommended.json").read_text())
    assert recommended["figures"]["val_acc"] > 0.5


# -- commands


def options_shown() -> dict[tuple[str, ...], set[str]]:
    """Return the options of the commands that the pages show, by module and its command."""
    shown: dict[tuple[str, ...], set[str]] = {}
    line = (
        r"^    (?:\S+=\S+ )?(?:\.venv/bin/)?(?:python -m )?((?:orchestrator|trainables)[\w.]*)(.*)$"
    )
    for page in PAGES:
        text = re.sub(r"\\\n", " ", page.read_text(encoding="utf-8"))
        for module, rest in re.findall(line, text, re.M):
            typed = rest.partition(" #")[0]
            words = re.findall(r"^ ([a-z]+)(?![\w./])", typed)  # ``train``, ``init``
            if words == ["tune"]:  # what follows the script is the script's
                typed = typed.partition(".py")[0]
            found = re.findall(r"(?<![\w-])--[a-z][\w-]*", typed)
            shown.setdefault((module, *words), set()).update(found)
    return {command: options for command, options in shown.items() if options}


SHOWN = options_shown()


@pytest.mark.parametrize("command", SHOWN, ids=" ".join)
def test_commands_have_the_options_that_pages_give_them(
    command: tuple[str, ...], run_cli: RunCli
) -> None:
    module, *words = command
    of_ours = module == "orchestrator"
    helped = run_main(*words, "--help") if of_ours else run_cli(*words, "--help", module=module)
    assert SHOWN[command] - set(re.findall(r"--[a-z][\w-]*", helped.stdout)) == set()
