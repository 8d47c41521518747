"""``orchestrator.run``: a sweep from a script or a notebook's cell."""

from __future__ import annotations

import hashlib
import html
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import cloudpickle

from orchestrator.arguments import EXIT_WRONG_REQUEST
from orchestrator.driver.options.declaration import flag
from orchestrator.driver.options.options import DECLARATIONS
from orchestrator.errors import SweepError, nearest
from orchestrator.storage.files import RunFile, read_recommended
from orchestrator.storage.runs import DEFAULT_RUNS
from orchestrator.sweep.definition import Sweep
from orchestrator.sweep.loading import PICKLED
from orchestrator.system.import_path import environment_with

if TYPE_CHECKING:
    import pandas as pd

_RESUMED: Final = "to resume: "
_DRIVER: Final = (
    "import signal, sys; from orchestrator.system.lifeline import die_with_parent; "
    "die_with_parent(int(sys.argv.pop(1)), signal.SIGTERM); "
    "from orchestrator.__main__ import run; run()"
)
"""The command line, which ends in order when its parent dies: a notebook's kernel restarts."""


@dataclass(frozen=True)
class Report:
    """The report of a run; a notebook shows it as a page.

    Attributes:
        path: The page.
    """

    path: Path

    def _repr_html_(self) -> str:
        if not self.path.exists():
            return f"<p>There is no {html.escape(str(self.path))}.</p>"
        page = html.escape(self.path.read_text("utf-8"))
        return f'<iframe srcdoc="{page}" width="100%" height="900" style="border:0"></iframe>'


@dataclass(frozen=True)
class Result:
    """The result of a sweep.

    Attributes:
        path: The run directory.
        exit_code: That of the command line: 0 where a config is recommended.
    """

    path: Path
    exit_code: int

    @property
    def recommended(self) -> Mapping[str, Any] | None:
        """The recommended config; None where there is none."""
        content = read_recommended(self.path)
        return None if content is None else content["config"]

    @property
    def trials(self) -> pd.DataFrame:
        """A row a trial."""
        trials: pd.DataFrame = self.tables.trials
        return trials

    @property
    def configs(self) -> pd.DataFrame:
        """A row a config; see :func:`orchestrator.analysis.configs`."""
        configs: pd.DataFrame = _analysis().configs(self.tables)
        return configs

    @cached_property
    def tables(self) -> Any:  # noqa: ANN401 - orchestrator.analysis.RunTables
        """All tables of the run, for the functions of ``orchestrator.analysis``."""
        return _analysis().load(self.path)

    @property
    def report(self) -> Report:
        """The report."""
        return Report(self.path / RunFile.REPORT)

    def __repr__(self) -> str:
        """Return the answer, and where the run is."""
        answer = self.path / "answer.md"
        lines = answer.read_text("utf-8").strip() if answer.exists() else "no answer"
        return f"{lines.partition(chr(10))[0].strip('*')}\n{self.path}"


def _analysis() -> Any:  # noqa: ANN401
    """Return ``orchestrator.analysis``, by name: trainables import this module, not that."""
    return import_module("orchestrator.analysis")


def run(sweep: Sweep[Any], **options: Any) -> Result:  # noqa: ANN401 - as of the command line
    """Run a sweep; print its progress and its answer as the command line does.

    The sweep may be defined in a cell or a script: its function goes to the trials by value. It
    runs in a process of its own, which Ctrl-C or a notebook's stop button ends as on the command
    line: with the tables and the report of what has run.

    Args:
        sweep: The sweep.
        options: Options of the command line by name: ``trials=8``, ``executor="inline"``,
            ``no_mlflow=True``, ``set=["rigor=quick"]``, ``resume="runs/..."``.

    Raises:
        SweepError: An option is unknown, or the request is wrong: its message is printed.
    """
    for name in options:
        if name not in DECLARATIONS or name == "plan":
            close = nearest(name, DECLARATIONS)
            raise SweepError(f"run: there is no option {name}{close}", "as on the command line")
    content, name = cloudpickle.dumps(sweep), sweep.trainable.name
    if (given := options.get("out") or options.get("resume")) is None:
        given = options["out"] = DEFAULT_RUNS / name / time.strftime("%Y-%m-%dT%H-%M-%S")
    folder = Path(given).absolute()
    digest = hashlib.sha256(content).hexdigest()[:12]
    file = folder.parent / ".sweeps" / digest / f"{name}{PICKLED}"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(content)
    code = _followed([str(file), *_words(options)], f"orchestrator.run(..., resume={str(given)!r})")
    if code == EXIT_WRONG_REQUEST:
        raise SweepError("run: the request is wrong: see above")
    return Result(folder, code)


def _words(options: Mapping[str, Any]) -> Iterator[str]:
    """Yield options as they are typed."""
    for name, value in options.items():
        if value is None or value is False:
            continue
        yield flag(name)
        if isinstance(value, (list, tuple)):
            yield from map(str, value)
        elif value is not True:
            yield str(value)


def _followed(words: list[str], again: str) -> int:
    """Run a command line; print its lines as they come, and hand an interrupt on to it.

    Args:
        words: Its arguments.
        again: What to call to resume the run, in place of the command that its line has.
    """
    with subprocess.Popen(
        [sys.executable, "-c", _DRIVER, str(os.getpid()), *words],
        text=True, errors="replace", bufsize=1, start_new_session=True,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        env=environment_with(*sys.path),
    ) as process:  # fmt: skip
        assert process.stdout is not None
        while True:
            try:
                for line in process.stdout:
                    is_command = line.startswith(_RESUMED)
                    sys.stdout.write(f"{_RESUMED}{again}\n" if is_command else line)
                    sys.stdout.flush()
                return process.wait()
            except KeyboardInterrupt:
                process.send_signal(signal.SIGINT)
