from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import ray

from orchestrator.execution.ray.deaths import cause, is_lost, repeated
from tests.orchestrator.execution.conftest import LaunchOf

DIED = (
    "The actor died unexpectedly before finishing this task.\n\tclass_name: TrialSupervisor\n"
    "The actor is dead because its worker process has died. Worker exit type: SYSTEM_ERROR "
    "There are some potential root causes. (1) The process is killed by SIGKILL by OOM killer"
)


def test_what_has_not_ended_is_repeated_with_an_attempt_less(launch_of: LaunchOf) -> None:
    first, second, third = (launch_of(name, retries=2) for name in "abc")
    again = repeated(replace(first, others=(second, third)), {"b", "c"})
    assert again is not None
    assert [trial.id for trial in again.trials] == ["b", "c"]
    assert [(each.limits.retries, each.failed_attempts) for each in again.each()] == [(1, 1)] * 2
    once_more = repeated(again, {"c"})
    assert once_more is not None
    assert (once_more.limits.retries, once_more.failed_attempts, once_more.others) == (0, 2, ())


def test_no_attempt_is_left_where_there_were_as_many_as_asked_for(launch_of: LaunchOf) -> None:
    assert repeated(launch_of("a"), {"a"}) is None


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (
            f"Failure # 1\n{DIED}\n",
            "The actor is dead because its worker process has died. Worker exit type: SYSTEM_ERROR",
        ),
        ("Connection error. Some common causes include: (1) the OOM killer", "Connection error."),
        ("first\nlast\n", "last"),
        ("first\nours.ray.RanksLost: its ranks on node b died\n", "its ranks on node b died"),
        ("", "Ray gives no reason"),
    ],
)
def test_the_cause_is_one_line_without_advice(tmp_path: Path, text: str, reason: str) -> None:
    (tmp_path / "error.txt").write_text(text)
    assert cause(str(tmp_path / "error.txt")) == reason


def test_a_cause_that_tune_has_not_written_is_not_known(tmp_path: Path) -> None:
    assert cause(None) == cause(str(tmp_path / "absent")) == "Ray gives no reason"


def test_a_node_is_lost_where_no_node_of_its_name_lives(monkeypatch: pytest.MonkeyPatch) -> None:
    nodes = [("a", True), ("b", False), ("b", True), ("c", False)]
    rows = [{"NodeManagerHostname": name, "Alive": alive} for name, alive in nodes]
    monkeypatch.setattr(ray, "nodes", lambda: rows)
    lost = [name for name in ("", "a", "b", "c", "never seen") if is_lost(name)]
    assert lost == ["c"], "b has joined again"
