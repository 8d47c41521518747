"""Exceptions of classes that misbehave when they are looked at."""

from __future__ import annotations


class Unwritable(BaseException):
    """Raises when it is written; it is no ``Exception``."""

    def __str__(self) -> str:
        raise RuntimeError("no text of this")

    __repr__ = __str__


class NotText(Exception):
    """Its text is no string."""

    def __str__(self) -> str:
        return 3  # type: ignore[return-value]
