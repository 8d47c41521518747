"""UTF-8 for all text of a process, whatever the locale."""

from __future__ import annotations

import codecs
import locale
import os
import sys
from typing import Final

_VARIABLE: Final = "PYTHONUTF8"


def begin_in_utf8() -> None:
    """Begin this program again in Python's UTF-8 mode (PEP 540) where the locale has no UTF-8.

    Else files, lines and names would have the locale's encoding, which may lack a character of the
    report's. Processes that are started afterwards inherit the mode.
    """
    is_utf8 = codecs.lookup(locale.getencoding()).name == "utf-8"
    if is_utf8 or sys.flags.utf8_mode or os.environ.get(_VARIABLE) == "1":
        return
    os.environ[_VARIABLE] = "1"
    os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])
