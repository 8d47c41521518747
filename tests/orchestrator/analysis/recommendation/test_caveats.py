from __future__ import annotations

import numpy as np
import pytest

from orchestrator.analysis.recommendation.caveats import caveats_of, how_sure
from orchestrator.analysis.recommendation.choice import choose
from orchestrator.analysis.recommendation.recommend import recommend
from orchestrator.analysis.recommendation.speedup import Basis, Speedup
from orchestrator.analysis.statistics.noise_floor import NoiseFloor
from orchestrator.analysis.tables.run_tables import RunTables
from orchestrator.trial import Stage
from tests.orchestrator.analysis.made_runs import Config, MadeRun, config

FAST = config(num_workers=3)
NOISE = NoiseFloor(stage=Stage.CONFIRM, num_runs=3, largest_ratio=1.04, cv=0.02)


def run_of(*speeds: tuple[Config, float], **cells: object) -> MadeRun:
    run = MadeRun()
    for c, speed in speeds:
        run.add_runs(c, [speed], **cells)
    return run


def confirm(run: MadeRun, c: Config, speeds: list[float], **cells: object) -> None:
    run.add_runs(c, speeds, stage="confirm", **cells)


def notes_of(tables: RunTables) -> tuple[str, ...]:
    return recommend(tables).notes


def sure(ratio: float, low: float, high: float, noise: NoiseFloor | None = None) -> str:
    speedup = Speedup(
        ratio=ratio, low=low, high=high, basis=Basis.CONFIRM, num_pairs=3, tie_margin=0.02
    )
    return how_sure(speedup, f"{ratio}x", noise)


def test_an_interval_that_reaches_one_is_not_a_gain() -> None:
    assert sure(1.01, 0.99, 1.015) == "1.01x; that is within the 2 % that make a tie"
    assert sure(1.2, 1.1, 1.3) == "1.2x"


def test_a_gain_within_the_margin_is_said_to_be_one() -> None:
    assert sure(1.01, 1.005, 1.015) == "1.01x; that is within the 2 % that make a tie"


def test_a_gain_within_the_noise_is_said_to_be_one_with_what_is_left_of_it() -> None:
    text = sure(1.022, 1.021, 1.023, NOISE)
    assert "that is within the noise: 3 confirm runs of the baseline differ" in text
    assert text.endswith("of which 2.3 % is left for means over 3")
    assert "noise" not in sure(1.2, 1.1, 1.3, NOISE)


def test_of_a_ratio_that_is_not_known_no_more_is_said_than_why() -> None:
    assert sure(0.5, 0.001, 1492, NOISE) == "0.5x"
    searching = Speedup(ratio=1.03, basis=Basis.SEARCHING)
    assert how_sure(searching, "not known", NOISE) == "not known"


@pytest.mark.parametrize(
    ("column", "cell", "words"),
    [
        ("tags.contaminated", "12 % of its cores' time", "all of its runs were contaminated"),
        ("isolation", "shared", "it was timed on shared cores"),
    ],
)
def test_a_cell_of_its_runs_that_weakens_the_choice_is_named(
    column: str, cell: str, words: str
) -> None:
    run = run_of((config(), 1000.0))
    assert not any(words in note for note in notes_of(run.tables))
    run.rows[0][column] = cell
    assert any(words in note for note in notes_of(run.tables))


def test_a_contaminated_run_that_was_left_out_is_named() -> None:
    run = run_of((config(), 800.0))
    run.add_runs(FAST, [1300.0, 1300.0])
    run.add_runs(FAST, [900.0], first=2, **{"tags.contaminated": "30 %"})
    assert any("1 contaminated run of it was left out" in note for note in notes_of(run.tables))


def test_a_run_that_failed_while_others_completed_is_counted() -> None:
    run = run_of((config(), 1000.0))
    run.add(config(), state="infeasible", reason="out of memory", repeat=1)
    assert "1 run of it did not complete" in notes_of(run.tables)


def test_the_baseline_that_is_taken_instead_has_caveats_of_its_own() -> None:
    run = run_of((config(), 1000.0))
    run.add_runs(FAST, [1300.0], **{"tags.contaminated": "30 %"})
    confirm(run, config(), [1000.0, 1001.0, 1002.0])
    confirm(run, FAST, [800.0, 802.0, 804.0])
    found = recommend(run.tables)
    assert found.config == config()
    assert not any("all of its runs were contaminated" in note for note in found.notes)


def test_a_choice_among_stopped_trials_is_named() -> None:
    run = MadeRun()
    run.add(config(num_workers=8), state="stopped", reason="enough seen")
    assert any("no trial trained its whole budget" in note for note in notes_of(run.tables))


def test_rows_under_other_conditions_are_counted() -> None:
    run = run_of((config(), 1000.0), (FAST, 1300.0))
    run.add_runs(config(num_workers=6), [9000.0], device="NVIDIA H200")
    words = "1 trial completed under other conditions (device NVIDIA H200)"
    assert any(words in note for note in notes_of(run.tables))


def test_a_slower_config_without_an_accurate_baseline_is_named() -> None:
    run = run_of((FAST, 1300.0))
    run.add_runs(config(), [1000.0], **{"metrics.val_acc": 0.8})
    confirm(run, FAST, [800.0, 810.0, 805.0])
    confirm(run, config(), [1000.0, 1000.0, 1000.0])
    notes = notes_of(run.tables)
    assert "the confirm runs show it to be slower than the baseline" in notes
    words = "the baseline itself is not accurate enough: val_acc 80.00 % when searching, "
    assert any(note == f"{words}the rule asks for 89.50 %" for note in notes)


def test_the_rule_asks_for_an_accuracy_of_comparable_rows_alone() -> None:
    run = run_of((FAST, 1300.0), (config(), 1000.0))
    confirm(run, FAST, [1300.0, 1310.0])
    confirm(run, config(), [1000.0, 1000.0])
    other = {"tags.cpu_model": "another processor", "metrics.val_acc": 0.99}
    run.add_runs(config(lr=1e-2), [500.0], **other)
    notes = notes_of(run.tables)
    assert any("another processor" in note for note in notes)
    assert not any("not accurate enough" in note or "short of" in note for note in notes)


def test_confirm_runs_that_miss_the_accuracy_are_named() -> None:
    run = run_of((FAST, 1300.0), (config(), 1000.0))
    confirm(run, FAST, [1300.0, 1310.0], **{"metrics.val_acc": 0.88})
    confirm(run, config(), [1000.0, 1000.0])
    words = "its confirm runs reach val_acc 88.00 %, short of the 89.50 % that the rule asks for"
    assert words in notes_of(run.tables)


@pytest.mark.parametrize(
    ("shared", "num_notes"),
    [([], 0), ([FAST], 1), ([config()], 1)],
    ids=["none", "its", "the baseline's"],
)
def test_a_claim_from_shared_cores_is_named(shared: list[Config], num_notes: int) -> None:
    run = run_of((FAST, 1300.0), (config(), 1000.0))
    for c, speed in ((FAST, 1300.0), (config(), 1000.0)):
        isolation = "shared" if c in shared else "exclusive"
        confirm(run, c, [speed, speed * 1.001, speed * 0.999], isolation=isolation)
    notes = [note for note in notes_of(run.tables) if "shared cores" in note]
    assert len(notes) == num_notes
    assert all(note.startswith("3 confirm runs of it or of the baseline were") for note in notes)


def test_speeds_of_two_kinds_are_named() -> None:
    run = run_of((config(), 1000.0), (FAST, 1300.0))

    def said(rates: list[str]) -> bool:
        trials = run.trials.assign(**{"tags.rate": np.resize(rates, len(run.trials))})
        notes = notes_of(RunTables(trials=trials, sweep=run.record))
        return any("too short for a steady" in note for note in notes)

    assert said(["steady", "epochs"])
    assert not said(["steady"])
    assert not said(["epochs"]), "they are all of a kind"


def test_a_tie_that_was_learned_to_be_none_is_named() -> None:
    run = MadeRun()
    run.add_runs(config(), [985.0, 984.0, 986.0])
    run.add_runs(FAST, [1000.0, 1000.0, 1000.0])
    choice = choose(run.tables)
    assert choice is not None
    ranked = {"verdict": "worse", "ratio_to_best": 0.985}
    notes = caveats_of(choice, run.tables, confirmed={}, ranked=ranked)
    assert any("at 98.5 % of its speed; that is within the margin of 2 %" in note for note in notes)
