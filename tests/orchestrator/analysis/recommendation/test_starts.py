"""A longer start: whether it pays within the epochs, and the report's sentence about it."""

import pytest

from orchestrator.analysis.findings.caveats import Caveat
from orchestrator.analysis.findings.findings import findings
from orchestrator.analysis.recommendation.selection import select
from tests.orchestrator.analysis.findings.runs import COMPILED, compiled
from tests.orchestrator.analysis.made_runs import config, factored_run

PLAIN = config()


@pytest.mark.parametrize(
    ("start_s", "gain", "epochs", "chosen", "after"),
    [
        (20.0, 0.03, 30, PLAIN, 653),  # 19 s, and 0.029 s an epoch
        (6.0, 0.12, 10, PLAIN, 47),
        (6.0, 0.12, 100, COMPILED, 47),
        (1.2, 0.10, 1, COMPILED, None),  # no more than the starts of one config differ by
    ],
)
def test_a_start_that_does_not_pay_within_the_epochs_is_not_recommended(
    start_s: float, gain: float, epochs: int, chosen: object, after: int | None
) -> None:
    run = compiled(start_s, gain, epochs, spread_s=0.05 if after else 0.2)
    assert select(run.tables).config == chosen
    answer = findings(run.tables)
    found = [one.text for one in answer.checks if one.code is Caveat.START]
    text = f"pays after {after} epochs, not within these {epochs}"
    if after and after <= epochs:
        text = f"pays after {after} of {epochs} epochs"
    assert [text in one for one in found] == ([True] if after else [])
    assert (text in answer.sentence) is bool(after)


def test_a_longer_start_of_a_slower_config_is_not_mentioned() -> None:
    fast = config(num_workers=3)
    answer = findings(compiled(20.0, 0.10, others=[(fast, 1.0, 0.5)]).tables)
    assert answer.config == fast
    assert not any(one.code is Caveat.START for one in answer.checks)


@pytest.mark.parametrize(("start_s", "is_longer"), [(3.0, False), (20.0, True)])
def test_without_repeats_the_noise_of_a_warm_up_makes_no_start_longer(
    start_s: float, is_longer: bool
) -> None:
    run = compiled(start_s, 0.10, 1)
    run.rows = [row for row in run.rows if row["repeat"] == 0]
    assert (select(run.tables).config == PLAIN) is is_longer
    checks = findings(run.tables).checks
    assert any(one.code is Caveat.START for one in checks) is is_longer


def test_steps_that_end_a_training_leave_starts_aside() -> None:
    run = compiled(20.0, 0.03, 30)
    run.sweep["budget"] = {"epochs": 30, "steps": 100}
    assert select(run.tables).config == COMPILED


def test_a_factored_search_takes_starts_from_probes() -> None:
    run = factored_run(confirmed=False)
    run.sweep["budget"] = {"epochs": 3, "steps": None}
    before = select(run.tables)
    for row in run.rows:
        if row["stage"] == "probe":
            workers = row["params.num_workers"]
            row |= {"metrics.train_s": 1.0, "wall_s": 3.0 + 100 * (workers == 3)}
    after = select(run.tables)
    assert after.unpaid.config["num_workers"] == before.config["num_workers"] == 3
    assert after.config["num_workers"] != 3
