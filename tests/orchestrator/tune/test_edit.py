"""Tests for ``orchestrator.tune.edit``."""

import pytest

from orchestrator.tune.edit import with_arguments


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ("DataLoader(data)", "DataLoader(data, num_workers=2)"),
        ("DataLoader(data, num_workers=args.n)", "DataLoader(data, num_workers=2)"),
        ("DataLoader(\n    data,\n    shuffle=True,\n)",
         "DataLoader(\n    data,\n    shuffle=True, num_workers=2,\n)"),
        ("DataLoader(data, collate_fn=(f))", "DataLoader(data, collate_fn=(f), num_workers=2)"),
        ("DataLoader(daten_ö, shuffle=True)", "DataLoader(daten_ö, shuffle=True, num_workers=2)"),
        ("make()", "make(num_workers=2)"),
    ],
)  # fmt: skip
def test_an_argument_is_written_into_the_call(call: str, expected: str) -> None:
    text = f"import torch\nloader = {call}  # ours\nprint(1)\n"

    new = with_arguments(text, 2, 9, {"num_workers": 2})

    assert new == f"import torch\nloader = {expected}  # ours\nprint(1)\n"


def test_several_arguments_are_written_at_once() -> None:
    new = with_arguments(
        "DataLoader(d, num_workers=0, shuffle=True)", 1, 0,
        {"num_workers": 2, "persistent_workers": True},
    )  # fmt: skip

    assert new == "DataLoader(d, num_workers=2, shuffle=True, persistent_workers=True)"


@pytest.mark.parametrize("text", ["DataLoader(data, **more)", "x = 1", "x = f(1)"])
def test_other_calls_are_left_alone(text: str) -> None:
    assert with_arguments(text, 1, 0, {"num_workers": 2}) is None
