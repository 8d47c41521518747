from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.errors import RunDirectoryError
from orchestrator.storage.journal import Journal, read_journal

VALUES = st.dictionaries(st.text(max_size=5), st.one_of(st.integers(), st.text(), st.booleans()))


@given(contents=st.lists(VALUES, max_size=8), torn=st.binary(max_size=40))
def test_reads_back_what_was_written_and_drops_a_torn_line(
    tmp_path_factory: pytest.TempPathFactory, contents: list[dict[str, object]], torn: bytes
) -> None:
    path = tmp_path_factory.mktemp("journal") / "journal.jsonl"
    journal = Journal(path)
    for content in contents:
        journal.append("note", content=content)
    journal.close()
    with path.open("ab") as file:
        file.write(torn.replace(b"\n", b""))
    assert [event["content"] for event in read_journal(path)] == contents

    again = Journal(path)
    again.append("note", content={"after": 1})
    again.close()
    assert [event["content"] for event in read_journal(path)] == [*contents, {"after": 1}]


def test_what_was_appended_survives_a_kill(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    writer = subprocess.Popen(
        [
            sys.executable,
            "-c",
            "import sys, pathlib; from orchestrator.storage.journal import Journal\n"
            f"journal = Journal(pathlib.Path({str(path)!r}))\n"
            "for i in range(10**9):\n"
            "    journal.append('note', i=i)\n"
            "    sys.stdout.write(f'{i}\\n'); sys.stdout.flush()\n",
        ],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert writer.stdout is not None
    heard = [int(writer.stdout.readline()) for _ in range(200)]
    writer.kill()
    rest = writer.stdout.read().splitlines(keepends=True)
    heard += [int(line) for line in rest if line.endswith("\n")]
    writer.wait()
    writer.stdout.close()
    kept = [event["i"] for event in read_journal(path)]
    assert kept[: len(heard)] == heard, "nothing that anyone heard of is lost"


TRIAL = '{"id": "a", "stage": "train", "config": {}, "budget": {"epochs": 1}, "seed": 0}'


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ('{"at": 1', "Expecting"),
        ("\xff", "codec can't decode"),
        ("", "Expecting"),
        ("[]", "it is a list, not an object"),
        ('{"at": 1}', "it has no 'event'"),
        ('{"event": "asked"}', "it has no 'trial'"),
        ('{"event": "asked", "trial": {"config": []}}', "'list' object"),
        (f'{{"event": "asked", "trial": {TRIAL.replace("train", "trian")}}}', "'trian' is not"),
        (f'{{"event": "asked", "trial": {TRIAL.replace("seed", "sed")}}}', "'sed'"),
        ('{"event": "report", "trial_id": "b", "report": {}}', "trial 'b' was never asked for"),
        ('{"event": "report", "trial_id": "a", "report": {}}', "'step'"),
        ('{"event": "finished", "trial_id": "a"}', "it has no 'result'"),
        ('{"event": "finished", "trial_id": "a", "result": {}}', "it has no 'state'"),
    ],
)
def test_a_whole_line_that_is_damaged_is_named(tmp_path: Path, line: str, why: str) -> None:
    path = tmp_path / "journal.jsonl"
    text = f'{{"event": "asked", "trial": {TRIAL}}}\n{line}\n{{"event": "note"}}\n'
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(RunDirectoryError) as error:
        list(read_journal(path))
    assert error.value.message.startswith(f"{path}:2 is damaged: ")
    assert why in error.value.message
