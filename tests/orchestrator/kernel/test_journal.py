"""The journal and the events in it."""

import errno
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator.errors import RunDirectoryError
from orchestrator.kernel.events import (
    Asked,
    Continued,
    Cut,
    Ended,
    Event,
    Finished,
    Merged,
    Noted,
    Opened,
    Reported,
    Resumed,
    Started,
    Timed,
    Waiting,
    decode,
    encode,
)
from orchestrator.kernel.journal import MOST_REPORTS, Journal, read_journal, read_steps
from orchestrator.trial import Budget, Report, Stage, Trial, TrialResult, TrialState


def notes(path: Path) -> list[str]:
    return [event.text for event in read_journal(path) if isinstance(event, Noted)]


def opened(path: Path) -> list[object]:
    return [event.sweep for event in read_journal(path) if isinstance(event, Opened)]


VALUES = st.dictionaries(st.text(max_size=5), st.one_of(st.integers(), st.text(), st.booleans()))


# A torn line has no end: nothing else distinguishes it from a wrong line.
TORN = st.binary(max_size=40).filter(lambda line: not line.strip().endswith(b"}"))


@settings(max_examples=30)
@given(contents=st.lists(VALUES, max_size=8), torn=TORN)
def test_reads_back_what_was_written_and_drops_a_torn_line(
    tmp_path_factory: pytest.TempPathFactory, contents: list[dict[str, object]], torn: bytes
) -> None:
    path = tmp_path_factory.mktemp("journal") / "journal.jsonl"
    journal = Journal(path)
    for content in contents:
        journal.append(Opened(sweep=content))
    journal.close()
    with path.open("ab") as file:
        file.write(torn.replace(b"\n", b""))
    assert opened(path) == contents

    again = Journal(path)
    again.append(Opened(sweep={"after": 1}))
    again.close()
    assert opened(path) == [*contents, {"after": 1}]


def test_what_was_appended_survives_a_kill(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    writer = subprocess.Popen(
        [
            sys.executable,
            "-c",
            "import sys, pathlib; from orchestrator.kernel.journal import Journal\n"
            "from orchestrator.kernel.events import Ended\n"
            f"journal = Journal(pathlib.Path({str(path)!r}))\n"
            "for i in range(10**9):\n"
            "    journal.append(Ended(exit_code=i))\n"
            "    sys.stdout.write(f'{i}\\n'); sys.stdout.flush()\n",
        ],
        stdout=subprocess.PIPE,
        text=True,
    )
    heard = [int(writer.stdout.readline()) for _ in range(200)]
    writer.kill()
    rest = writer.stdout.read().splitlines(keepends=True)
    heard += [int(line) for line in rest if line.endswith("\n")]
    writer.wait()
    writer.stdout.close()
    kept = [event.exit_code for event in read_journal(path) if isinstance(event, Ended)]
    assert kept[: len(heard)] == heard, "nothing that anyone heard of is lost"


TRIAL = '{"id": "a", "stage": "train", "config": {}, "budget": {"epochs": 1}, "seed": 0}'


ASKED = f'"event": "asked", "trial": {TRIAL}'
REPORT = (
    '{"at": 1, "event": "report", "trial_id": "a", "report": '
    '{"step": 1, "epoch": 1, "samples": 2, "elapsed_s": 1.0, "metrics": {"val_acc": 0.5}}}'
)


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ('{"at": 1', "Expecting"),
        ("[" * 100_000, "recursion"),
        ("[]", "list indices must be integers"),
        ('{"at": 1}', "it has no 'event'"),
        (f'{{"at": "now", {ASKED}}}', "got `str` - at `$.at`"),
        ('{"at": 1, "event": ["asked"]}', "unhashable"),
        ('{"at": 1, "event": "asked"}', "missing required field `trial`"),
        (f'{{"at": 1, {ASKED.replace("train", "trian")}}}', "'trian' - at `$.trial.stage`"),
        (REPORT.replace('"step": 1', '"step": {}'), "got `object` - at `$.report.step`"),
        ('{"at": 1, "event": "ended", "exit_code": "0"}', "got `str` - at `$.exit_code`"),
    ],
)  # fmt: skip
def test_a_whole_line_that_is_damaged_is_named(tmp_path: Path, line: str, why: str) -> None:
    path = tmp_path / "journal.jsonl"
    text = f'{{"at": 1, {ASKED}}}\n{line}\n{{"at": 1, "event": "other"}}\n'
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(RunDirectoryError) as error:
        list(read_journal(path))
    assert error.value.message.startswith(f"{path}:{2 + line.count(chr(10))} is damaged: ")
    assert why in error.value.message


def test_of_the_times_of_steps_a_damaged_line_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "steps.jsonl"
    blocks = '{"at": 1, "event": "blocks", "trial_id": "a", "blocks": [[0, 0, 8, 80, 0.5, 0]]}'
    lines = [blocks, "{", blocks.replace("80", '"x"'), blocks.replace("0.5, 0", "0.5"), blocks]
    path.write_text("\n".join([*lines, ""]))
    assert len(list(read_steps(path))) == 2


A_TRIAL = Trial(
    id="a",
    stage=Stage.TRAIN,
    config={"lr": 0.1, "fanouts": (1, 2), "amp": None},
    budget=Budget(epochs=1),
    seed=0,
)
A_REPORT = Report(step=1, epoch=1, samples=8, elapsed_s=0.5, metrics={"loss": float("inf")})
ONE_OF_EACH: tuple[Event, ...] = (
    Opened(sweep={"name": "s"}), Resumed(sweep={}), Asked(trial=A_TRIAL), Merged(trial=A_TRIAL),
    Started(trial_id="a", node="n", cores=2, restored_epochs=1),
    Reported(trial_id="a", report=A_REPORT), Waiting(trial_id="a", seconds=1.0, what="cores"),
    Finished(trial_id="a", result=TrialResult(state=TrialState.NOT_RUN)),
    Cut(part="search", by="b", limits={"time_s": 1.5, "max_cost": None}, text="t"),
    Continued(trials=None), Noted(text="t"), Ended(exit_code=0),
    Timed(trial_id="a", blocks=[(0, 0, 8, 80, 0.5, 0)]),
)  # fmt: skip


def line(event: str, **content: object) -> bytes:
    return json.dumps({"at": 1.5, "event": event, **content}).encode()


@pytest.mark.parametrize("event", ONE_OF_EACH, ids=lambda event: type(event).__name__)
def test_an_event_is_read_back_as_it_was_written(event: Event) -> None:
    timed = type(event)(**{**vars(event), "at": 1.5})
    assert decode(encode(timed)) == timed


def test_blocks_and_output_are_not_in_the_journal() -> None:
    result = TrialResult(state=TrialState.COMPLETED, blocks=[[0, 0, 8, 80, 0.5, 0]], output="text")
    written = json.loads(encode(Finished(at=1.0, trial_id="a", result=result)))
    assert not {"blocks", "output"} & set(written["result"])
    assert list(written) == ["at", "event", "trial_id", "result"]


def test_a_kind_of_a_later_version_is_none() -> None:
    assert decode(line("of a later version", more=[1])) is None


def written(path: Path, *texts: str) -> list[bytes]:
    journal = Journal(path)
    for text in texts:
        journal.append(Noted(text=text))
    journal.close()
    return path.read_bytes().splitlines(keepends=True)


@pytest.mark.parametrize(
    ("damage", "why"),
    [
        (lambda lines: [lines[0], lines[1].replace(b"two", b"too"), lines[2]], "2 is damaged: its"),
        (lambda lines: [lines[0], lines[2]], "2 is damaged: it was line 3: lines before it were"),
        (lambda lines: [lines[0], lines[1].replace(b"crc", b"src")], "2 is damaged: it has no ch"),
        (lambda lines: [lines[0], *lines], "2 is damaged: it was line 1: lines before it were"),
    ],
)
def test_a_line_that_was_changed_taken_out_or_added_is_named(
    tmp_path: Path, damage: Callable[[list[bytes]], list[bytes]], why: str
) -> None:
    path = tmp_path / "journal.jsonl"
    path.write_bytes(b"".join(damage(written(path, "one", "two", "three"))))
    with pytest.raises(RunDirectoryError) as error:
        notes(path)
    assert f"{path}:{why}" in error.value.message


def test_lines_of_an_earlier_version_are_read_and_counted(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    path.write_bytes(b'{"at":1,"event":"note","text":"old"}\n')
    assert b'"line":2,' in written(path, "new")[1]
    assert notes(path) == ["old", "new"]


def test_zeros_that_a_power_cut_left_are_a_torn_end(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    first, second, third = written(path, "one", "two", "three")
    path.write_bytes(first + bytes(len(second)) + third)
    assert notes(path) == ["one"]
    written(path, "again")
    assert notes(path) == ["one", "again"]


def test_what_could_not_be_synced_is_cut_off(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "journal.jsonl"
    journal = Journal(path)
    journal.append(Opened(sweep={}))

    def fails(_descriptor: int) -> None:
        raise OSError(errno.EIO, "no")

    journal.append(Noted(text="unsynced"))
    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", fails)
        with pytest.raises(OSError, match=r"journal\.jsonl"):
            journal.close()
    assert opened(path) == [{}]
    assert notes(path) == []


def test_ends_are_synced_in_groups(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now, synced = 0.0, []
    monkeypatch.setattr(time, "monotonic", lambda: now)
    journal = Journal(tmp_path / "journal.jsonl")
    monkeypatch.setattr(os, "fsync", lambda _descriptor: synced.append(now))
    for step in range(100):
        now = step / 100
        journal.append(Finished(trial_id="a", result=TrialResult(state=TrialState.NOT_RUN)))
    assert 4 <= len(synced) <= 5
    now = 2.0
    journal.sync_ends()
    assert synced[-1] == 2.0, "the last of them by a later tick"
    monkeypatch.undo()
    journal.close()


def test_a_folder_that_became_read_only_is_noticed_without_an_event(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal = Journal(tmp_path / "journal.jsonl")
    journal.sync_ends()
    monkeypatch.setattr(os, "access", lambda *_: False)
    now = time.monotonic()
    monkeypatch.setattr(time, "monotonic", lambda: now + 60)
    with pytest.raises(OSError, match=f"cannot be written any more: '{tmp_path}'"):
        journal.sync_ends()
    journal.close()


def test_reports_of_a_journal_that_was_not_thinned_are_thinned_as_they_are_read(
    tmp_path: Path,
) -> None:
    path = tmp_path / "journal.jsonl"
    with closing(Journal(path)) as journal:
        for _ in range(2):  # the second process of the trial begins anew
            journal.append(Started(trial_id="a"))
            for step in range(MOST_REPORTS + 1000):  # one each millisecond
                report = Report(metrics={}, epoch=1, step=step, samples=step, elapsed_s=step / 1000)
                journal.append(Reported(trial_id="a", report=report))
    kept = [event for event in read_journal(path) if isinstance(event, Reported)]
    assert MOST_REPORTS * 2 < len(kept) <= (MOST_REPORTS + 3) * 2
