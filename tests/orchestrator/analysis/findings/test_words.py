"""All that an answer can say, on one page: ``answers.txt`` beside this file.

After a change of words: ``python -m tests.orchestrator.analysis.findings.test_words`` writes it.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from orchestrator.analysis.findings.codes import Caveat
from orchestrator.analysis.findings.words import Change, named
from tests.orchestrator.analysis.findings.runs import RUNS, findings_of

PAGE = Path(__file__).with_name("answers.txt")


def answer_to(name: str) -> str:
    """Return all the words on a run."""
    found = findings_of(name)
    parts = {
        found.status: [found.sentence],
        "why": [found.why],
        "how sure": [found.how_sure],
        "not known": [found.why_not_known],
        "busy": [found.busy],
        "check": [f"{check.health}: {check.code}: {check.text}" for check in found.checks],
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


def test_a_knob_without_an_effect_is_marked_in_the_sentence() -> None:
    found = findings_of("a knob without an effect")
    assert {change.knob for change in found.changes} == {"num_workers", "threads"}
    assert found.sentence.endswith("; no effect shown of threads")


def test_every_code_is_met_by_a_run() -> None:
    met: set[object] = set()
    for name in RUNS:
        met |= {one.code for one in findings_of(name).checks}
    # Shown where it is computed: statistics/test_interference.py.
    assert {*Caveat} - met == {Caveat.INTERFERENCE}


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
    assert named([Change(knob=name, value="2", baseline="1") for name in names]) == text


if __name__ == "__main__":
    PAGE.write_text("\n\n".join(map(answer_to, RUNS)) + "\n", encoding="utf-8")
