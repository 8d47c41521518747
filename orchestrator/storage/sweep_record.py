"""``sweep.json``: a sweep as it was resolved, and where it ran.

A field is declared once, in :class:`SweepRecord`. Its type is what a reader checks, and its mark
states whether a resumed run must have the same.
"""

import ast
import hashlib
import json
import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field, fields
from functools import cached_property
from pathlib import Path
from typing import Any, Final, Literal

import msgspec

from orchestrator.errors import RunDirectoryError, SweepError
from orchestrator.kernel.events import Opened
from orchestrator.kernel.journal import read_journal
from orchestrator.kernel.problem import EarlierConfig
from orchestrator.metrics import Objective, Published
from orchestrator.rules import SelectionRule
from orchestrator.space.knob import Role
from orchestrator.storage.files import RunFile, no_run, replace_file, require_no_links
from orchestrator.sweep.rigor import NAMES as RIGOR_FIELDS
from orchestrator.sweep.rigor import Rigor
from orchestrator.texts import bounded
from orchestrator.trial import Budget, Isolation, Proposal

FORMAT: Final = 2
"""Version of the run directory. 1 had no number."""

_MOST_BYTES: Final = 2**24
"""Largest ``sweep.json`` that is read; one of 2,000 knobs has a MiB."""

Part = Literal["question", "ground"]
"""What must be the same in a run and in its resumption: what is asked, and what answers it."""

_QUESTION: Final[Mapping[str, Part]] = {"part": "question"}
"""Marks what the user asks: known, and to be compared, before anything is started."""
_GROUND: Final[Mapping[str, Part]] = {"part": "ground"}
"""Marks what the question is answered on: known once the data and the machine are there."""


@dataclass(frozen=True, kw_only=True)
class KnobRecord:
    """A knob of the trainable.

    Attributes:
        role: What it changes.
        unit: Unit, empty for counts and switches.
        doc: Meaning and consequence, one line.
        default: Its default value, as JSON has it.
        allowed: Allowed values in words.
        type: Name of its type.
    """

    role: Role
    unit: str = ""
    doc: str = ""
    default: Any = None
    allowed: str = ""
    type: str = "str"

    @cached_property
    def options(self) -> tuple[Any, ...]:
        """The values that are listed; () for a range."""
        if not self.allowed.startswith("one of "):
            return ()
        values: tuple[Any, ...] = ast.literal_eval(f"({self.allowed[7:]},)")
        return values


@dataclass(frozen=True, kw_only=True)
class Capacity:
    """The most trials that run at the same time. A resumed run keeps its capacity.

    Attributes:
        per_node: Most trials on one node.
        total: Most trials on all nodes.
        interleaved_gib: Memory that interleaved trials may have together; 0: none interleave.
        interleaved_gpu_gib: The same on a GPU.
    """

    per_node: int = 1
    total: int = 1
    interleaved_gib: float = 0.0
    interleaved_gpu_gib: float = 0.0


@dataclass(frozen=True, kw_only=True)
class SweepRecord:
    """Everything about a sweep that is known before its first trial.

    Some fields must be the same in a run and in its resumption, since another question is another
    run; see :meth:`changes`.

    Attributes:
        name: Stem of the sweep file.
        file: Absolute path of the sweep file.
        file_hash: SHA-256 of the sweep file; empty where it could not be read.
        question: The sweep's question in words.
        trainable: Name of the trainable.
        space: What the varied knobs are varied over, in words, by name.
        fixed: Values of the other knobs by name.
        baseline: The canonical baseline's value of every knob.
        objectives: One to three; by convention the speed, then the accuracy.
        rule: The rule that a config is recommended by.
        target: What times to an accuracy are counted to; None where no figure takes one.
        prices: Price of a ``cpu_hour`` and of a ``gpu_hour``; empty: trials have no cost.
        budget: How long a trial trains.
        search: The search as Python writes it.
        rigor: Runs, margins and limits that the answer rests on.
        seed: Seed of the plan and of the trials.
        isolation: Isolation of trials from each other.
        constraints: Source of the sweep's own constraints.
        cores_per_trial: Cores of every trial.
        data: Name of the data set in every row, or empty.
        source_hash: Hash of the trainable's source.
        data_fingerprint: Hash of the data's content, or empty.
        data_note: Set where an embedded set stands in for an absent one.
        knobs: Every knob of the trainable by name.
        nodes: What is known of each node: CPU, versions, clocks.
        capacity: Most trials that run at the same time.
        memory_per_trial_gib: Memory limit of a trial; None: its share of the node.
        published: Figures of studies.
        num_planned: Most trials of the search and fewest of the confirm stage. Repeats, the
            interference check and further confirm rounds come on top. None where the search has
            no end.
        options: Command-line options that a resumption takes over, by name.
        data_arguments: Arguments of a command line that name the same data, from any folder.
        command_line: The command that started the run, passwords left out.
        started_at: Unix time of its start.
        versions: Versions by package.
        hardware: ``cpu_model, num_cores, memory_gib, gpus`` of the driver's node.
        git: ``commit`` and ``dirty`` of the sweep file's repository, or None.
        warm_start: Directories of the earlier runs with the results that the search received first.
        earlier: These results, by config.
        known: Trials of these runs that are rows of this one, and were not run again.
        replayed: Run directory with the recorded runs that were played on a simulated clock;
            empty where the trials were measured.
        cuts: What a budget has left no room for, a sentence each; known at the end.
        format: Version of the run directory; see :data:`FORMAT`.
    """

    name: str
    objectives: tuple[Objective, ...] = field(metadata=_QUESTION)
    knobs: Mapping[str, KnobRecord]
    baseline: Mapping[str, Any] = field(metadata=_QUESTION)
    rigor: Rigor = field(metadata=_QUESTION)
    rule: SelectionRule = field(default_factory=SelectionRule, metadata=_QUESTION)
    target: Objective | None = field(default=None, metadata=_QUESTION)
    prices: Mapping[str, float] = field(default_factory=dict, metadata=_QUESTION)
    file: str = ""
    file_hash: str = ""
    question: str = ""
    trainable: str = field(default="", metadata=_QUESTION)
    space: Mapping[str, str] = field(default_factory=dict, metadata=_QUESTION)
    fixed: Mapping[str, Any] = field(default_factory=dict, metadata=_QUESTION)
    budget: Budget = field(default=Budget(epochs=1), metadata=_QUESTION)
    search: str = field(default="", metadata=_QUESTION)
    seed: int = field(default=0, metadata=_QUESTION)
    isolation: Isolation = field(default=Isolation.LEASED, metadata=_QUESTION)
    constraints: tuple[str, ...] = field(default=(), metadata=_QUESTION)
    cores_per_trial: int = field(default=1, metadata=_GROUND)
    data: str = field(default="", metadata=_GROUND)
    source_hash: str = ""
    data_fingerprint: str = ""
    data_note: str = ""
    nodes: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    capacity: Capacity = field(default_factory=Capacity)
    memory_per_trial_gib: float | None = None
    published: tuple[Published, ...] = ()
    num_planned: int | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    data_arguments: tuple[str, ...] = ()
    command_line: tuple[str, ...] = ()
    started_at: float = 0.0
    versions: Mapping[str, str] = field(default_factory=dict)
    hardware: Mapping[str, Any] = field(default_factory=dict)
    git: Mapping[str, Any] | None = None
    replayed: str = ""
    warm_start: tuple[str, ...] = ()
    earlier: tuple[EarlierConfig, ...] = ()
    known: tuple[Proposal, ...] = ()
    cuts: tuple[str, ...] = ()
    format: int = FORMAT

    def write(self, run_dir: Path) -> None:
        """Write ``sweep.json``; a reader never sees half of it."""
        text = json.dumps(self.to_json(), indent=2) + "\n"
        replace_file(run_dir / RunFile.SWEEP, lambda path: path.write_text(text))

    def to_json(self) -> Mapping[str, Any]:
        """Return the content of ``sweep.json``: plain JSON values."""
        return self._json

    @cached_property
    def _json(self) -> dict[str, Any]:
        content = asdict(self) | {"rule": self.rule.to_json()}
        rigor = content.pop("rigor")
        del rigor["half_width"]  # the budget has it
        content |= rigor
        plain: dict[str, Any] = json.loads(json.dumps(content, default=str))
        return plain

    @classmethod
    def from_json(cls, content: Mapping[str, Any], where: str) -> "SweepRecord":
        """Return the record that :meth:`to_json` wrote.

        Args:
            content: Content of the file.
            where: Its path, for the message.

        Raises:
            RunDirectoryError: It does not describe a sweep, or another version has written it.
        """
        if (written := content.get("format", 1)) != FORMAT:
            raise RunDirectoryError(
                f"{where}: is of format {written}, this version reads {FORMAT}",
                "use the version that wrote it",
            )
        rigor = {name: content[name] for name in RIGOR_FIELDS if name in content}
        try:
            rigor["half_width"] = content.get("budget", {}).get("half_width")
            return msgspec.convert({**content, "rigor": rigor}, cls)
        except (AttributeError, msgspec.ValidationError, SweepError) as error:
            raise RunDirectoryError(f"{where}: cannot be read: {bounded(str(error))}") from None

    def own_file(self, instead: str) -> Path:
        """Return the sweep file, which is code: the one that this user has started the run with.

        Args:
            instead: What to type to run another file.

        Raises:
            RunDirectoryError: It is gone, another user's, or not the same any more.
        """
        file = Path(self.file)
        if not file.is_file():
            what = "is not there any more"
        elif file.stat().st_uid != os.geteuid():
            what = "is another user's"
        elif not self.file_hash or hash_of(file) != self.file_hash:
            what = "is not the file that the run was started with"
        else:
            return file
        raise RunDirectoryError(f"{file}: the run's sweep file {what}", instead)

    def changes(self, before: "SweepRecord", part: Part) -> dict[str, tuple[Any, Any]]:
        """Return what differs from ``before`` in one part, as JSON has it.

        Returns:
            The value then and the value now, by field.
        """
        now, then = self.to_json(), before.to_json()
        names = [entry.name for entry in fields(self) if entry.metadata.get("part") == part]
        if "rigor" in names:
            names.remove("rigor")
            names += [name for name in RIGOR_FIELDS if name not in _MAY_CHANGE]
        return {name: (then[name], now[name]) for name in names if then[name] != now[name]}


_MAY_CHANGE: Final = ("interleaved", "half_width", "retries", "time_limit_s")
"""Fields of the rigor that make no other question: they may change with a resumption."""


def hash_of(file: Path) -> str:
    """Return the SHA-256 of a file; empty where it cannot be read."""
    with suppress(OSError):
        return hashlib.sha256(file.read_bytes()).hexdigest()
    return ""


def read_sweep(run_dir: Path) -> SweepRecord:
    """Return the record of a run directory, of its journal where ``sweep.json`` is lost.

    Raises:
        RunDirectoryError: It is not a run directory, a link in it leads elsewhere, or both are
            damaged.
    """
    require_no_links(run_dir)
    path = run_dir / RunFile.SWEEP
    try:
        if (size := path.stat().st_size) > _MOST_BYTES:
            raise ValueError(f"it has {size:,} bytes")
        content = json.loads(path.read_bytes())
    except (OSError, ValueError) as error:  # not JSON, or not UTF-8
        journal = run_dir / RunFile.JOURNAL
        is_there = os.path.isfile(journal)  # noqa: PTH113 - of any length
        events = read_journal(journal) if is_there else ()
        swept = [event.sweep for event in events if isinstance(event, Opened)]
        if swept:
            return SweepRecord.from_json(swept[-1], str(journal))
        if isinstance(error, (FileNotFoundError, NotADirectoryError)):
            raise no_run(run_dir) from None
        raise RunDirectoryError(f"{path}: cannot be read: {error}", "start a new run") from None
    if not isinstance(content, dict):
        raise RunDirectoryError(f"{path}: cannot be read: no JSON object", "start a new run")
    return SweepRecord.from_json(content, str(path))
