"""Values that do not fit the annotations of their fields are named; those that fit are not."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Generic, Literal, Protocol, TypeVar

import numpy as np
import pytest

from orchestrator.field_types import shown, wrong_fields

if TYPE_CHECKING:
    from nothing_that_is_installed import Absent  # type: ignore[import-not-found]

T = TypeVar("T")


class Kind(StrEnum):
    ONE = "one"


class Acts(Protocol):
    def act(self) -> None: ...


@dataclass(frozen=True, kw_only=True)
class Inner:
    count: int = 0


@dataclass(frozen=True, kw_only=True)
class Fields(Generic[T]):
    number: int = 0
    real: float = 0.0
    text: str = ""
    switch: bool = False
    maybe: int | None = None
    kind: Kind = Kind.ONE
    word: Literal["a", "b"] = "a"
    texts: Sequence[str] = ()
    pairs: tuple[tuple[int, float], ...] = ()
    shares: Mapping[str, float] = field(default_factory=dict)
    inner: Inner = field(default_factory=Inner)
    inners: Sequence[Inner] = ()
    either: Inner | Callable[[Any], Any] | None = None
    called: Callable[[int], int] = abs
    of: type[T] = int  # type: ignore[assignment]
    anything: Any = None
    acts: Acts | None = None
    absent: Absent | None = None
    own: T | None = None


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("number", np.int64(3)), ("real", 3), ("real", float("inf")), ("maybe", None),
        ("texts", ["a"]), ("pairs", [[1, 2.0]]), ("shares", {"a": 1}), ("inner", Inner(count=2)),
        ("either", len), ("either", Inner()), ("called", print), ("of", str),
        ("anything", object()),
        ("acts", 3), ("absent", "anything"), ("own", "anything"), ("word", "b"),
    ],
)  # fmt: skip
def test_what_fits_is_not_wrong(name: str, value: Any) -> None:  # noqa: ANN401
    assert wrong_fields(Fields(**{name: value})) == []


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("number", True, "number = True, which is not an int of 64 bits"),
        ("number", 2**63, "number = 9223372036854775808"),
        ("real", "3", "real = '3', which is not a number"),
        ("text", "\ud800", r"text = '\ud800'"),
        ("switch", 1, "switch = 1, which is not True or False"),
        ("maybe", "x", "maybe = 'x', which is not an int of 64 bits or None"),
        ("kind", "one", "kind = 'one', which is not Kind.ONE"),
        ("word", "c", "word = 'c', which is not 'a' or 'b'"),
        ("texts", "abc", "texts = 'abc', which is not a list"),
        ("texts", ["a", 3], "texts[1] = 3, which is not a str"),
        ("pairs", [[1, "x"]], "pairs[0][1] = 'x'"),
        ("shares", [], "shares = [], which is not a mapping"),
        ("shares", {"a": "x"}, "shares['a'] = 'x'"),
        ("inner", 3, "inner = 3, which is not an Inner"),
        ("inner", Inner(count="x"), "inner.count = 'x'"),  # type: ignore[arg-type]
        ("either", 3, "either = 3, which is not an Inner or a function or None"),
        ("called", 3, "called = 3, which is not a function"),
    ],
)
def test_what_does_not_fit_is_named(name: str, value: Any, message: str) -> None:  # noqa: ANN401
    fields: Fields[int] = Fields(**{name: value})
    (wrong,) = wrong_fields(fields)
    assert wrong.field == name
    assert message in f"{wrong}, which is not {wrong.allowed}"


def test_a_value_that_is_shown_is_bounded() -> None:
    assert len(shown("x" * 10_000)) < 300
    assert shown("\udcff").encode()
