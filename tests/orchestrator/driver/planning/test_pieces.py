"""Rows of a search whose trials pause: what a plan says, and what searches do."""

from __future__ import annotations

import random
from dataclasses import replace

from orchestrator.driver.planning.pieces import Pieces, has_pieces, num_rows, pieces
from orchestrator.driver.planning.plan import Plan
from orchestrator.search import Asha
from orchestrator.space.domains import choice
from tests.orchestrator.driver.plans import Config, plan
from tests.orchestrator.search.stopping.halving import EPOCHS, play, table


def pausing(num_configs: int, asha: Asha, *, keeps_checkpoints: bool = True) -> Plan:
    """Return the plan of a grid of so many configs, the baseline among them."""
    workers = choice(*range(num_configs)) if num_configs > 1 else 0
    made = plan(space=Config(workers=workers), epochs=EPOCHS, stopping=asha)
    trainable = replace(made.sweep.trainable, keeps_checkpoints=keeps_checkpoints)
    return replace(made, sweep=replace(made.sweep, trainable=trainable))


def test_a_curve_has_a_row_for_each_rung_that_it_may_come_to() -> None:
    made = pausing(9, Asha("val_acc", grace=1))
    # 9 come to the first rung, of which 3 are the best: 2, if the baseline is one of them.
    assert list(pieces(made, most=False)) == [
        Pieces(rows=1),
        Pieces(rows=8, pause_after=1, share=1 / 9),
        Pieces(rows=2, pause_after=3, share=2 / 9),
        Pieces(rows=0, share=6 / 9),
    ]
    # If each is better than those before it all but the first two are the best once.
    assert [part.rows for part in pieces(made, most=True)] == [1, 8, 7, 6]


def test_trials_that_end_at_rungs_have_a_row_each() -> None:
    assert has_pieces(pausing(9, Asha("val_acc")))
    assert not has_pieces(pausing(9, Asha("val_acc"), keeps_checkpoints=False))
    assert not has_pieces(plan(space=Config(workers=choice(0, 1))))


def test_a_search_has_no_fewer_rows_and_no_more_than_its_plan_says() -> None:
    met = {False: 0, True: 0}
    for seed in range(300):
        of = table(seed)
        of.failing = 0.0
        search, _ = of.search(pauses=True)
        log = play(of, search, capacity=random.Random(seed).randint(1, 4))
        asked = [event.name for event in log if event.what == "asked"]
        made = pausing(len(set(asked)), replace(of.asha, metric="val_acc"))
        low, high = num_rows(made, most=False), num_rows(made, most=True)
        assert low <= len(asked) <= high, seed
        met[False] += low == len(asked)
        met[True] += high == len(asked)
    assert min(met.values()) > 10, "neither bound is idle"
