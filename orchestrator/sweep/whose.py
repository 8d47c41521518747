"""The owners of what a run directory names: code that is run as the user, links written through."""

from __future__ import annotations

import errno
import os
import pwd
from pathlib import Path


def whose_code(file: Path) -> str:
    """Return which code is run, and whose it is; empty where the file cannot be seen.

    A run directory may be another user's, and names the file that is run.
    """
    path = file.resolve()
    try:
        owner = path.stat().st_uid
    except OSError:
        return ""
    text = f"runs the code of {path}, which belongs to {_name(owner)}"
    if owner in (os.geteuid(), 0):
        return text
    return f"{text} and not to you, {_name(os.geteuid())}: it can do all that you can"


def other_owner(file: Path, *, follow_links: bool = True) -> str:
    """Return the user that a file belongs to; empty where that is this user, or root."""
    try:
        owner = file.stat(follow_symlinks=follow_links).st_uid
    except OSError:
        return ""
    return "" if owner in (os.geteuid(), 0) else _name(owner)


def refuse_anothers_link(folder: Path) -> None:
    """Check that a folder to write into is no link that another user has placed there.

    Raises:
        PermissionError: It is one.
    """
    if not folder.is_symlink():
        return
    if owner := other_owner(folder, follow_links=False) or other_owner(folder.parent):
        raise PermissionError(errno.EPERM, f"it is a link of {owner}'s", str(folder))


def _name(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:  # as in a container that is run as any user
        return f"user {uid}"
