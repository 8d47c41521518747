"""Ray's authentication token for an existing cluster."""

from __future__ import annotations

import os
from pathlib import Path

_MODE = "RAY_AUTH_MODE"


def use_token_if_there_is_one() -> None:
    """Has Ray authenticate by its token where the user has one and has not said otherwise.

    To be called before ``ray`` is imported: Ray 2.60 starts a cluster with the token that
    it finds, but a driver that connects reads its own setting too early and is refused
    unless the environment says so.
    """
    path = Path(os.environ.get("RAY_AUTH_TOKEN_PATH", Path.home() / ".ray" / "auth_token"))
    if "RAY_AUTH_TOKEN" in os.environ or path.exists():
        os.environ.setdefault(_MODE, "token")
