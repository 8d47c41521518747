"""All that an answer can say, on one page: ``answers.txt`` beside this file.

After a change of words: ``python -m tests.orchestrator.analysis.findings.test_words`` writes it.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from orchestrator.analysis.findings import words
from orchestrator.analysis.findings.caveat_words import busy_machine, checks, notes
from orchestrator.analysis.findings.codes import Caveat, Lead, Reason
from orchestrator.analysis.findings.findings import Change
from orchestrator.analysis.findings.reason_words import reason
from orchestrator.analysis.findings.reasons import why_no_front
from tests.orchestrator.analysis.findings.runs import RUNS, findings_of, tables_of

PAGE = Path(__file__).with_name("answers.txt")


def answer_to(name: str) -> str:
    """Return all the words on a run."""
    tables, found = tables_of(name), findings_of(name)
    parts = {
        found.status: [words.sentence(found)],
        "why": [words.why(found)],
        "how sure": [words.how_sure(found)],
        "not known": [words.why_speedup_not_known(found)],
        "busy": [busy_machine(found)],
        "no front": []
        if tables.ranked["on_front"].any()
        else [reason(why_no_front(tables), tables.rule)],
        "note": notes(found),
        "check": [f"{check.health}: {check.name}: {check.text}" for check in checks(found)],
    }
    lines = [f"{part}: {text}" for part, texts in parts.items() for text in texts if text]
    return "\n".join([f"== {name}", *lines])


@pytest.fixture(scope="module")
def page() -> dict[str, str]:
    sections = PAGE.read_text(encoding="utf-8").rstrip("\n").split("\n\n")
    return {section.partition("\n")[0].removeprefix("== "): section for section in sections}


@pytest.mark.parametrize("name", RUNS)
def test_the_words_on_a_run_stand_on_the_page(name: str, page: dict[str, str]) -> None:
    assert answer_to(name) == page[name]


def test_every_code_is_met_by_a_run() -> None:
    met: set[object] = set()
    for name in RUNS:
        found = findings_of(name)
        met |= {found.lead.code, found.why.code, why_no_front(tables_of(name)).code}
        met |= {one.code for one in (*found.unknown, *found.caveats)}
    # Shown where they are computed: statistics/test_interference.py, test_caveats.py.
    assert {*Lead, *Reason, *Caveat} - met == {Caveat.INTERFERENCE, Caveat.WORSE_THAN_BEST}


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0, "the baseline"),
        (1, "batch_size 2"),
        (4, "batch_size 2 with num_workers 2, lr 2 and dropout 2"),
        (6, "batch_size 2 with num_workers 2, lr 2 and 3 more settings"),
    ],
)
def test_a_config_is_named_by_what_differs_four_at_most(number: int, text: str) -> None:
    names = ("batch_size", "num_workers", "lr", "dropout", "threads", "ranks")[:number]
    assert words.named([Change(knob=name, value="2", baseline="1") for name in names]) == text


if __name__ == "__main__":
    PAGE.write_text("\n\n".join(map(answer_to, RUNS)) + "\n", encoding="utf-8")
