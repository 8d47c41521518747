"""The command that a run prints trains what the run has found, on the same data."""

import json
import shlex
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest

from orchestrator.analysis.report.first_screen import to_copy
from orchestrator.analysis.report.view import View
from orchestrator.analysis.tables.run_tables import RunTables
from orchestrator.cli import parse
from orchestrator.driver.analyst import Analyst
from orchestrator.driver.assembly import make_factory, make_search
from orchestrator.driver.record import sweep_record
from orchestrator.driver.request import prepared_data, read_request
from orchestrator.kernel.events import Asked, Event, Finished, Opened
from orchestrator.machine import Machine, Node
from orchestrator.storage import tables
from orchestrator.storage.history import read_history
from orchestrator.storage.sweep_record import SweepRecord
from orchestrator.trial import Trial, TrialResult, TrialState
from tests.orchestrator.helpers.in_process import importing_nothing_for_good
from tests.orchestrator.search.playing import play

MACHINE = Machine(nodes=(Node(name="a", cpus=2),))
Config = dict[str, Any]


FILE = '''
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Literal

from orchestrator import (
    Rigor, Sweep, Trainable, both, choice, knobs, learning, loguniform, maximize, systems,
)
from orchestrator.data import PreparedData
from orchestrator.search import Factored, Grid, Optuna, Random


@knobs
class Config:
    lr: float = learning(default=0.1, gt=0, doc="step size")
    hidden: int = both(default=16, ge=1, doc="width")
    fanouts: tuple[int, ...] = both(default=(10, 25), ge=1, doc="neighbours of each layer")
    shuffle: bool = both(default=True, doc="another order in each epoch")
    amp: Literal["off", "bf16"] = both(default="off", doc="precision")
    label: str = learning(default="", doc="free text")
    workers: int = systems(default=0, ge=0, doc="loader processes")
    prefetch: int = systems(default=2, ge=1, doc="ahead", applies=lambda c: c.workers > 0)


@dataclass(frozen=True, kw_only=True)
class Words:
    """A file of words under the data root, or in a folder of its own; or words of its own."""

    name: str
    embedded: bool
    folder: Path | None = None
    how_to_get = "write it"

    def at(self, variant):
        return replace(self, folder=Path(variant))

    def _source(self, folders):
        return (self.folder or folders.root / self.name) / "words.txt"

    def present(self, folders):
        return self.embedded or self._source(folders).is_file()

    def name_in(self, folders):
        return self.name

    def prepare(self, folders, *, download=False):
        text = self.name if self.embedded else self._source(folders).read_text()
        path = folders.root if self.embedded else self._source(folders).parent
        fingerprint = sha256(text.encode()).hexdigest()[:12]
        return PreparedData(name=self.name, path=path, fingerprint=fingerprint)


def train(config, run):
    for epoch in run.epochs():
        for _ in run.batches(range(8), samples=lambda _: 4 if config.workers else 5):
            pass
        run.report(val_acc=0.9)


SETS = [Words(name="words", embedded=False), Words(name="made", embedded=True)]
TRAINABLE = Trainable(
    train, Config, data=SETS, reports=[maximize("val_acc")], name="printed", preload=["torch"]
)
SWEEP = Sweep(
    TRAINABLE,
    question="What is printed?",
    space=Config({space}),
    baseline=Config(),
    search={search},
    embedded_data="made",
    rigor=Rigor(confirm=0, max_repeats=1, check_isolated=0, retries=0),
    cores_per_trial=1,
)
'''


def write_printed(folder: Path, space: str, search: str = "Grid()") -> Path:
    """Write the sweep file into ``folder``."""
    path = folder / "printed sweep.py"
    path.write_text(FILE.replace("{space}", space).replace("{search}", search))
    return path


def write_words(folder: Path, words: str) -> None:
    """Write a set into ``folder``, which is made."""
    folder.mkdir(parents=True)
    (folder / "words.txt").write_text(words)


class Played:
    """A run of trials that were not trained: each has a speed, the same for the same config."""

    def __init__(self, *words: str | Path) -> None:
        """Play the run of a command line in the current folder."""
        with importing_nothing_for_good():
            request = read_request(parse([*map(str, words), "--no-mlflow"]))
            factory = make_factory(request, prepared_data(request), MACHINE, Path("private"))
            record = sweep_record(factory, request, list(map(str, words)))
            self._trials = play(make_search(factory, Analyst(record)), _answer).trials
        self._record = SweepRecord.from_json(json.loads(json.dumps(record.to_json())), "sweep.json")
        self.data = record.data_fingerprint  # fingerprint of the data
        asked = {json.dumps(trial.config): trial.config for trial in self._trials}
        self.configs = list(map(_plain, asked.values()))  # those asked for, none twice

    @cached_property
    def _view(self) -> View:
        return View(tables=_tables(self._record, self._trials))

    @property
    def found(self) -> Config:
        """The config that is recommended."""
        assert self._view.findings.config is not None
        return _plain(self._view.findings.config)

    @property
    def command(self) -> list[str]:
        """The arguments of the command that is printed."""
        command = printed(self._view)
        assert command == [self._record.file, *self._view.findings.command]
        return command


def _answer(trial: Trial) -> TrialResult:
    """Return a result: its speed grows with the workers, else with less computation."""
    config = trial.config
    speed = 1000.0 + 100 * config["workers"] - config["hidden"] - config["prefetch"]
    return TrialResult(
        state=TrialState.COMPLETED,
        metrics={"samples_per_s": speed, "val_acc": 0.9},
        device="cpu",
        cores=1,
        isolation="leased",
    )


def _tables(record: SweepRecord, trials: Sequence[Trial]) -> RunTables:
    events: list[Event] = [Opened(sweep=record.to_json())]
    for trial in trials:
        events.append(Asked(trial=trial))
        events.append(Finished(trial_id=trial.id, result=_answer(trial)))
    return RunTables(trials=tables.trials_of(read_history(events)), sweep=record)


def _plain(config: Mapping[str, Any]) -> Config:
    return {name: tuple(v) if isinstance(v, list) else v for name, v in config.items()}


def printed(view: View) -> list[str]:
    """Return the arguments of the command in a report that measures the settings again."""
    *_, again = to_copy(view).values()
    return _arguments(" ".join(again))


def _arguments(command: str) -> list[str]:
    words = shlex.split(command)
    assert words[:3] == ["python", "-m", "orchestrator"]
    return words[3:]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the current folder."""
    folder = tmp_path / "a folder"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def elsewhere(tmp_path: Path) -> Path:
    """Return another folder to run the printed command in."""
    folder = tmp_path / "else where"
    folder.mkdir()
    return folder


@pytest.mark.parametrize(
    ("space", "settings"),
    [
        ("hidden=64, lr=choice(0.1, 0.3)", ["hidden=16"]),  # a default, which the file changes
        ("hidden=choice(32, 64), lr=choice(0.1, 0.3)", ["hidden=16"]),  # ... or varies
        ("shuffle=False, fanouts=(5,)", ["shuffle=1", "fanouts=10,25", "lr=0.30000000000000004"]),
        ("label='a b', amp='bf16'", ["label=it's $HOME; a=b", "amp=off"]),
        ("workers=0, prefetch=4", ["workers=2"]),
        ("workers=2, prefetch=4", ["workers=0"]),  # prefetch has no effect, and its default
        ("workers=choice(0, 2), prefetch=choice(3, 4)", ["prefetch=3"]),
        ("fanouts=choice((5,), (10, 25)), shuffle=choice(True, False)", ["lr=1e-05"]),
    ],
)
def test_the_command_trains_the_knobs_that_were_set_and_those_that_vary(
    here: Path, space: str, settings: list[str]
) -> None:
    file = write_printed(here, space)
    run = Played(file.name, "--set", *settings, "--data", "made")
    assert Played(*run.command).configs == [run.found]


@pytest.mark.parametrize("search", ["Random(trials=3)", "Optuna(trials=3)", "Factored()"])
def test_every_search_trains_the_one_config_alone(here: Path, search: str) -> None:
    space = "workers=choice(0, 2), lr=loguniform(0.01, 1)"
    file = write_printed(here, space, search=search)
    run = Played(file.name, "--data", "made")
    assert Played(*run.command).configs == [run.found]


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (["--data-root", "my data"], ["--data-root"]),
        (["--data", "my data/words"], ["--data"]),
        (["--data", "words", "--data-root", "my data"], ["--data", "--data-root"]),
        (["--data", "words@my data/words"], ["--data", "--data-root"]),
        (["--data", "made", "--data-root", "my data"], ["--data"]),
        ([], ["--data"]),  # the set is absent: another one replaces it, here and in the command
    ],
)
def test_the_data_are_those_of_the_run_wherever_the_command_is_typed(
    here: Path,
    elsewhere: Path,
    monkeypatch: pytest.MonkeyPatch,
    options: list[str],
    named: list[str],
) -> None:
    write_words(here / "my data" / "words", "mine")
    write_words(elsewhere / "data" / "words", "others'")
    file = write_printed(here, "workers=choice(0, 2)")
    run = Played(file.name, *options)
    assert [word for word in run.command if word.startswith("--data")] == named
    monkeypatch.chdir(elsewhere)
    again = Played(*run.command)
    assert (again.configs, again.data) == ([run.found], run.data)
