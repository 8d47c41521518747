"""Ray's authentication token for an existing cluster."""

from __future__ import annotations

import os
from pathlib import Path

_MODE = "RAY_AUTH_MODE"


def use_token_if_there_is_one() -> None:
    """Have Ray authenticate by the user's token, if there is one, unless the user says otherwise.

    Call it before ``ray`` is imported. Ray 2.60 starts a cluster with the token that it finds, but
    a driver that connects reads its setting at import, and is refused unless the environment
    names the mode.
    """
    # Not Path.home(): a user may have none.
    usual = Path("~/.ray/auth_token").expanduser() if "HOME" in os.environ else Path(os.devnull)
    path = os.environ.get("RAY_AUTH_TOKEN_PATH", usual)
    # One that cannot be looked at is none.
    if "RAY_AUTH_TOKEN" in os.environ or os.path.isfile(path):  # noqa: PTH113
        # The user's own choice of a mode goes first.
        os.environ.setdefault(_MODE, "token")
