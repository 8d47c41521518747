"""Benchmarks at sizes that take no time: targets, a made run, a made checkout."""

from pathlib import Path

import pytest

from benchmarks import orchestration, planning, replay
from benchmarks.analysis import NUM_KNOBS, STEPS, measure, write_run
from benchmarks.code_shape import PACKAGES, main
from benchmarks.features import Feature
from benchmarks.harness import Comparison, Pairs, in_fresh_process, in_turn, printed
from benchmarks.planning import PROMISED_S
from orchestrator.storage.files import RunFile


def comparison(ratio: float, **limits: float) -> Comparison:
    """A comparison of two rounds with this ratio."""
    return Comparison(
        what="a step", unit="s", pairs=Pairs(ours=[ratio, 2 * ratio], peer=[1.0, 2.0]), **limits
    )


def test_the_two_sides_take_turns() -> None:
    order: list[str] = []

    def side(name: str, figure: float) -> float:
        order.append(name)
        return figure

    pairs = in_turn(lambda n: side("ours", n + 1), lambda _: side("peer", 2.0), pairs=3)
    assert order == ["ours", "peer"] * 3
    assert pairs.ratios == [0.5, 1.0, 1.5]
    assert pairs.row("a step", "s") == "| a step | 2 s | 2 s | 1.000 | 0.500 to 1.500 | 3 |"


@pytest.mark.parametrize(
    ("ratio", "limits", "code"),
    [
        (1.3, {"at_least": 1.3}, 0),
        (1.29, {"at_least": 1.3}, 1),
        (0.07, {"at_most": 0.07}, 0),
        (0.08, {"at_most": 0.07}, 1),
        (9.0, {}, 0),
    ],
)
def test_a_missed_ratio_is_the_exit_code(
    ratio: float, limits: dict[str, float], code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    assert printed([comparison(1.0), comparison(ratio, **limits)], "torch") == code
    output = capsys.readouterr().out
    assert "- versions: Python 3" in output
    assert all(f"to reach: {limit:g}" in output for limit in limits.values())


@pytest.mark.slow
def test_a_function_runs_in_a_separate_process() -> None:
    assert in_fresh_process(_sum_and_main, 2, 3) == [5, "__main__"]
    with pytest.raises(RuntimeError, match="unsupported operand"):
        in_fresh_process(_sum_and_main, 2, "x")


def _sum_and_main(a: int, b: int) -> tuple[int, str]:
    import sys

    return a + b, sys.modules["__main__"].__name__


@pytest.mark.parametrize(("slowest_s", "code"), [(PROMISED_S, 0), (PROMISED_S + 0.1, 1)])
def test_the_slowest_plan_keeps_the_promise(
    monkeypatch: pytest.MonkeyPatch, slowest_s: float, code: int
) -> None:
    times = iter([0.5, 1.0, slowest_s, 1.0])
    monkeypatch.setattr(planning, "in_fresh_process", lambda _: next(times))
    assert planning.main(["--pairs", "2"]) == code


@pytest.mark.parametrize(("ours_s", "code"), [(0.07, 0), (0.08, 1)])
def test_orchestration(monkeypatch: pytest.MonkeyPatch, ours_s: float, code: int) -> None:
    def of_ours(_folder: Path, num_trials: int) -> float:
        return 32 * ours_s + 0.001 * (num_trials - 32)

    monkeypatch.setattr(orchestration, "ours", of_ours)
    monkeypatch.setattr(orchestration, "peer", lambda _folder, num_trials: float(num_trials))
    assert orchestration.main([]) == code


def test_it_replays_as_many_trials_as_it_reports() -> None:
    row = replay.measure(30)
    assert row["trials"] == 30
    assert 20 < row["simulated_s"] < 70, "they run at the same time"
    assert "| 30 |" in list(replay.table_lines([row]))[-1]
    # The memory includes that of tests that ran in this process before.
    assert replay.verdict([{**row, "peak_gib": 0.1}])[1]


@pytest.mark.slow
def test_a_made_run_is_measured_from_its_directory_to_its_page(tmp_path: Path) -> None:
    write_run(tmp_path / "run", 60)
    row = measure(f"{tmp_path}/run")
    assert set(row) == {*STEPS, "total", "cpu", "gib", "mb"}
    assert all(value > 0 for value in row.values())
    page = (tmp_path / "run" / RunFile.REPORT).read_text(encoding="utf-8")
    assert row["mb"] * 1e6 == len(page.encode())
    assert f"knob_{NUM_KNOBS - 1}" in page


FILES = {
    "replay/player.py": "def replayed() -> None:\n    pass\n",
    "loop.py": "from orchestrator.replay.player import replayed\n",
    "words.py": "IS_REPLAY = 'REPLAY'\n",
    "other.py": '"""No replay."""\nimport orchestrator.words  # that is of a replay\n',
}


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    for package in (*PACKAGES, "tests"):
        (tmp_path / package).mkdir()
        (tmp_path / package / "__init__.py").write_text('"""A package."""\n')
    for name, text in FILES.items():
        (tmp_path / "orchestrator" / name).parent.mkdir(exist_ok=True)
        (tmp_path / "orchestrator" / name).write_text(text)
    return tmp_path


def test_code_in_other_files_names_a_feature(checkout: Path) -> None:
    feature = Feature(name="replay", words="replay", own="replay")
    found = [path.name for path in feature.files(checkout / "orchestrator")]
    assert found == ["loop.py", "words.py"]


def test_the_tables_have_lines_circles_and_features(
    checkout: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--root", str(checkout)]) == 0
    printed = capsys.readouterr().out
    assert "| orchestrator | 5 | 7 |" in printed
    assert "| orchestrator/replay | 1 | 2 |" in printed
    assert "folders of more than 20 files: none" in printed
    assert "| replay | 2 |" in printed
