"""The decision whether a round is interleaved."""

from __future__ import annotations

from orchestrator.search.stages.interleaving import InterleavedOrNot, never
from orchestrator.search.stages.sequence import Ledger
from tests.orchestrator.search.playing import six_configs


def test_each_round_is_decided_anew_from_its_configs_and_the_results() -> None:
    ledger = Ledger(problem=six_configs())
    asked = []

    def may_interleave(configs: object, results: object) -> bool:
        asked.append((configs, results))
        return True

    configs = [dict(ledger.problem.baseline)]
    assert InterleavedOrNot("runs", may_interleave).next_round(configs, ledger)
    assert asked == [(configs, ledger.results)]
    assert ledger.notes == []


def test_a_note_says_once_that_rounds_are_no_longer_interleaved() -> None:
    answers = iter([True, True, False, False])
    decision = InterleavedOrNot("confirm runs", lambda _configs, _results: next(answers))
    ledger = Ledger(problem=six_configs())

    assert [decision.next_round([], ledger) for _ in range(4)] == [True, True, False, False]
    (note,) = ledger.notes
    assert note.startswith("confirm runs are no longer interleaved")


def test_rounds_that_never_were_interleaved_leave_no_note() -> None:
    ledger = Ledger(problem=six_configs())
    assert not InterleavedOrNot("confirm runs", never).next_round([], ledger)
    assert ledger.notes == []
