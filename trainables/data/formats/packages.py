"""Libraries that only some data sets need, and a machine may lack."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from orchestrator.errors import DataError


@contextmanager
def needing(package: str, reason: str) -> Iterator[None]:
    """A block that imports ``package``.

    Args:
        package: Its name for the installer.
        reason: The work that needs it.

    Raises:
        DataError: It is not installed, or does not fit what is.
    """
    try:
        yield
    except ImportError as error:
        raise DataError(
            f"{reason} needs the package {package}: {error}", f"install {package}"
        ) from error
