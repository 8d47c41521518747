"""Text of any origin, made fit for a journal, a table, a terminal and a page."""

import re
from functools import lru_cache
from typing import Final

MOST_OF_A_REASON: Final = 20_000
"""Characters of a reason that are kept: more than of any traceback that one reads."""
MOST_OF_A_NAME: Final = 200
"""Characters of a name that are kept: of a metric, of a tag and of its text."""

MOST_OF_A_LINE: Final = 400
"""Characters that are kept of a line of code, and of an error's own text in a message."""

MOST_OF_A_MESSAGE_LINE: Final = 1_500
"""Characters that are kept of a line of a message."""

_UNFIT: Final = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)
"""Half of a surrogate pair, which UTF-8 cannot encode, control characters, and marks of direction,
which show a line in another order than it has."""
_OF_A_WORKER: Final = re.compile(r"\nOriginal Traceback.*\n(?:[ \t].*\n)*(.+)")
"""The traceback that torch appends to an error, with its last line."""
_ACTIVE: Final = re.compile(r"<(?=[a-zA-Z/!?])|(?<=!)\[|\](?=[(\[:])")
"""What begins a tag, a picture or a link in Markdown."""


def bounded(text: str, most: int = MOST_OF_A_REASON) -> str:
    r"""Return ``text`` with no more than about ``most`` characters, all of which can be shown.

    Others are escaped as Python writes them, ``\udcff`` or ``\x1b``. The middle of a longer text
    is left out: its beginning has what, its end has why.
    """
    if len(text) <= most and text.isprintable():
        return text
    if len(text) > most:
        half = most // 2
        left_out = f" [... {len(text) - 2 * half:,} characters left out ...] "
        text = f"{text[:half]}{left_out}{text[-half:]}"
    return _UNFIT.sub(lambda match: match[0].encode("unicode_escape").decode(), text)


def bounded_lines(text: str) -> str:
    """Return a message in which no line is long, as a wrong value may have made it."""
    return "\n".join(bounded(line, MOST_OF_A_MESSAGE_LINE) for line in text.splitlines())


def markdown(text: str) -> str:
    """Return Markdown in which every tag, picture and link is text. Done twice it is the same."""
    return _ACTIVE.sub(lambda match: f"&#{ord(match[0])};", text)


def cause(reason: str) -> str:
    """Return a reason's first line with ``#`` for each number: the same for the same cause."""
    return re.sub(r"\d+([.,]\d+)*", "#", first_line(reason))


def first_line(reason: str) -> str:
    """Return the first line of a reason, without the traceback and output below it.

    That of an error in a loader worker names no cause: the cause follows.
    """
    cause = _OF_A_WORKER.search(reason)
    return reason.strip().partition("\n")[0] + (f" {cause[1]}" if cause else "")


def described(error: BaseException, most: int = MOST_OF_A_LINE) -> str:
    """Return an error as its type and its text."""
    name, text = type(error).__name__, str(error)
    return bounded(f"{name}: {text}" if text else name, most)


@lru_cache(maxsize=4096)  # each report has the same names again
def bounded_name(text: str) -> str:
    """Return a name in one line, as :func:`bounded`."""
    return bounded(text, MOST_OF_A_NAME).replace("\n", "\\n").replace("\t", "\\t")
