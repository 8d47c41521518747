"""Values of ``--set``, and the options that they replaced."""

from __future__ import annotations

import pytest

from orchestrator.cli import parse


@pytest.mark.parametrize(
    ("given", "instead"),
    [
        (["--repeats", "3"], "--repeats is now --set rigor.repeats=N"),
        (["--confirm=0"], "--confirm is now --set rigor.confirm=N rigor.max_confirm=N"),
        (["--gpu-hours", "2"], "--gpu-hours is now --cost gpu_hour=1 --max-cost X"),
        (["--retries", "0"], "--retries is now --set rigor.retries=N"),
        (["--reuse-repeats"], "--reuse-repeats is now --set replay.reuse_repeats=true"),
    ],
)
def test_an_option_of_the_last_version_names_the_new_one(
    given: list[str], instead: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as end:
        parse(["s.py", *given])
    assert end.value.code == 2
    assert instead in capsys.readouterr().err


def test_settings_of_a_replay_are_read_apart_from_the_sweep_s() -> None:
    options = parse(["--set", "lr=1", "replay.cores=4", "replay.reuse_repeats=true", "rigor=quick"])
    assert options.replay == {"cores": 4, "reuse_repeats": True}
    assert options.overrides().settings == ["lr=1", "rigor=quick"]


@pytest.mark.parametrize("text", ["replay.cores=0", "replay.core=1", "replay.reuse_repeats=2", ""])
def test_a_setting_of_a_replay_is_checked_where_it_is_read(
    text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        parse(["--set", text])
    assert "argument --set" in capsys.readouterr().err
