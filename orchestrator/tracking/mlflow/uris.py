"""Tracking URIs: what is allowed, and how they are shown without their secrets.

What a URI shows is built of the parts that are known to be none, so that a secret in an odd place
is left out: the values of unknown parameters, the user of an address, all of what cannot be parsed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import SplitResult, parse_qsl, urlsplit

from orchestrator.errors import SweepError, nearest
from orchestrator.named_paths import named_path
from orchestrator.regular_files import open_regular

if TYPE_CHECKING:
    from sqlalchemy.engine import URL

DATABASES = ("sqlite", "postgresql", "mysql", "mssql")
SERVERS = ("http", "https")
DATABRICKS = "databricks"
SCHEMES = (*DATABASES, *SERVERS, DATABRICKS)

OPTION: Final = "--tracking-uri"
HIDDEN: Final = "***"

_SQLITE: Final = "sqlite:///"
_HEAD: Final = b"SQLite format 3\0"
"""Beginning of each database: https://www.sqlite.org/fileformat.html, section 1.2."""
_HARMLESS = re.compile(
    "application_name|cache|charset|dbname|driver|host|mode|port|(connect_|read_|write_)?timeout|"
    "ssl_?(ca|cert|key|mode)|sslrootcert|target_session_attrs|unix_socket|uri|user",
    re.IGNORECASE,
)
"""Parameters of a database's URI whose values are shown."""
_PLAIN_VALUE = re.compile(r"[\w .,+/-]*")
_PLAIN_HOST = re.compile(r"[\w.-]*(:\d+)?|\[[0-9a-fA-F:.%]+\](:\d+)?")
_PLAIN_PATH = re.compile(r"(\w[\w+.-]*:)?[\w.~+/ -]*[/.][\w.~+/ -]*")
"""Text that cannot hold user and password; a single word might be a token."""


def checked_uri(uri: str, given_by: str = OPTION) -> str:
    """Return ``uri`` with a sqlite file's path made absolute.

    Args:
        uri: MLflow's tracking URI.
        given_by: Option or variable that it comes from, for messages.

    Raises:
        SweepError: MLflow's run tables cannot be there. The message shows no secret.
    """
    scheme, where = scheme_of(uri), f"{given_by} {shown(uri)}"
    if HIDDEN in uri:
        raise SweepError(
            f"{where}: its password is not kept with the run",
            f"give {OPTION} again, or MLFLOW_TRACKING_URI",
        )
    if "://" not in uri and uri != DATABRICKS:
        raise SweepError(f"{where}: is not a URI", _allowed())
    if scheme not in SCHEMES:
        name = (
            f" {scheme!r}{nearest(scheme, SCHEMES)}" if _PLAIN_PATH.fullmatch(f"{scheme}/") else ""
        )
        raise SweepError(f"{where}: unknown scheme{name}", _allowed())
    if not _is_clear(uri):
        raise SweepError(
            f"{where}: cannot be read",
            "write special characters of user and password in per cent: %40 for @, %3A for :, "
            "%2F for /, %23 for #, %3F for ?, %25 for %",
        )
    path = sqlite_path(uri)
    if path is not None and path.is_symlink():
        try:
            path.resolve(strict=False).exists()
        except (OSError, RuntimeError):
            raise SweepError(f"{where}: is a link to itself", "give another file") from None
    return in_full(uri)


def require_database(uri: str, given_by: str = OPTION) -> None:
    """Check that a sqlite URI names a database, or a file that is still to be made.

    Args:
        uri: A URI of those that are allowed.
        given_by: As of :func:`checked_uri`.

    Raises:
        SweepError: It names no file, or something else.
    """
    where, other = f"{given_by} {shown(uri)}", "give another file, or --no-mlflow"
    path = sqlite_path(uri)
    if path is None:
        if uri.startswith("sqlite://"):
            raise SweepError(f"{where}: names no file", f"allowed: {_SQLITE}FILE")
        return
    try:
        with open_regular(path) as file:
            head = file.read(len(_HEAD))
    except FileNotFoundError:
        return
    except OSError as error:
        raise SweepError(f"{where}: cannot be used: {error.strerror}", other) from None
    if head not in (b"", _HEAD):
        raise SweepError(f"{where}: is no SQLite database", other)


def _allowed() -> str:
    return (
        "allowed: sqlite:///FILE, http(s)://HOST:PORT, postgresql://..., mysql://..., mssql://..., "
        "databricks (a folder of files is too slow)"
    )


def scheme_of(uri: str) -> str:
    """Return a URI's scheme without its driver: ``mysql`` of ``mysql+pymysql://...``."""
    return uri.partition(":")[0].partition("+")[0]


def sqlite_path(uri: str) -> Path | None:
    """Return the absolute path of the file of a sqlite URI; None for others.

    Raises:
        SweepError: It begins with a user or a variable that there is not.
    """
    if not uri.startswith(_SQLITE):
        return None
    return named_path(uri.removeprefix(_SQLITE).partition("?")[0], _SQLITE).absolute()


def in_full(uri: str) -> str:
    """Return a URI with the path of its sqlite file made absolute; others as they are.

    Raises:
        SweepError: As of :func:`sqlite_path`.
    """
    path, (_, mark, query) = sqlite_path(uri), uri.partition("?")
    return uri if path is None else f"{_SQLITE}{path}{mark}{query}"


# -- the parts of a URI


def database_url(uri: str) -> URL | None:
    """Return a database's URI as SQLAlchemy parses it; None where it has no clear meaning.

    An ``@`` or ``#`` that is left in its host or database is of a user or a password with special
    characters, of which SQLAlchemy has taken a part for something else.
    """
    if not uri.isprintable():
        return None
    from sqlalchemy.engine import make_url
    from sqlalchemy.exc import ArgumentError

    try:
        url = make_url(uri)
    except (ArgumentError, ValueError):  # a port that is no number
        return None
    is_file = url.get_backend_name() == "sqlite" and not url.host
    rest = (url.host or "", "" if is_file else url.database or "")
    return None if re.search("[@#]", "".join(rest)) else url


def server_address(uri: str) -> SplitResult | None:
    """Return the parts of an address; None where it has no clear meaning."""
    if not uri.isprintable():  # urlsplit leaves line ends out
        return None
    try:
        parts = urlsplit(uri)
        _ = parts.port
    except ValueError:
        return None
    is_clear = parts.hostname and "@" not in f"{parts.path}{parts.query}{parts.fragment}"
    return parts if is_clear and _PLAIN_HOST.fullmatch(_host(parts)) else None


def _host(parts: SplitResult) -> str:
    return parts.netloc.rpartition("@")[2]


def _is_clear(uri: str) -> bool:
    scheme = scheme_of(uri)
    if scheme in SERVERS:
        return server_address(uri) is not None
    return scheme == DATABRICKS or _is_mere_file(uri) or database_url(uri) is not None


def _is_mere_file(uri: str) -> bool:
    """Return True for a sqlite file without parameters; SQLAlchemy is not imported for it."""
    return uri.startswith(_SQLITE) and "?" not in uri and uri.isprintable()


# -- showing it


def shown(uri: str) -> str:
    """Return a URI without its secrets; of one without a clear meaning hardly more than its scheme.

    What is hidden is written ``***``.
    """
    scheme = scheme_of(uri)
    if _is_mere_file(uri):
        return uri
    if scheme in SERVERS and (parts := server_address(uri)) is not None:
        return _shown_address(parts)
    if scheme in DATABASES and (url := database_url(uri)) is not None:
        return _shown_database(url)
    if scheme == DATABRICKS and (match := re.fullmatch(r"(databricks(?:://[\w.-]*)?)(:.*)?", uri)):
        return match[1] + f":{HIDDEN}" * bool(match[2])
    if scheme not in SCHEMES and _PLAIN_PATH.fullmatch(uri):
        return uri
    return f"{scheme}://{HIDDEN}" if scheme in SCHEMES else HIDDEN


def _shown_address(parts: SplitResult) -> str:
    # A token may stand in the place of the user, of the password, or of both.
    user = f"{HIDDEN}@" if "@" in parts.netloc else ""
    rest = f"?{HIDDEN}" * bool(parts.query) + f"#{HIDDEN}" * bool(parts.fragment)
    return f"{parts.scheme}://{user}{_host(parts)}{parts.path}{rest}"


def _shown_database(url: URL) -> str:
    text = url.set(query={}).render_as_string(hide_password=True)
    return text + "?" * bool(url.query) + "&".join(_shown_parameters(url))


def _shown_parameters(url: URL) -> Iterator[str]:
    for name, values in url.query.items():
        for value in (values,) if isinstance(values, str) else values:
            known = name if _PLAIN_VALUE.fullmatch(name) else HIDDEN
            yield f"{known}={value.replace(' ', '+') if is_harmless(name, value) else HIDDEN}"


def is_harmless(name: str, value: str) -> bool:
    """Return True if a parameter of a database's URI is shown with its value."""
    return bool(_HARMLESS.fullmatch(name) and _PLAIN_VALUE.fullmatch(value))


def shown_words(words: Sequence[str]) -> tuple[str, ...]:
    """Return a command line whose tracking URI has no secrets, however the option is spelled."""
    hidden, is_value = [], False
    for word in words:
        option, sign, value = word.partition("=")
        is_option = len(option) > len("--t") and OPTION.startswith(option)
        if is_value or "://" in option:
            hidden.append(shown(word))
        elif sign and (is_option or "://" in value):
            hidden.append(f"{option}={shown(value)}")
        else:
            hidden.append(word)
        is_value = is_option and not sign
    return tuple(hidden)


def parameters(query: str) -> Iterator[tuple[str, str]]:
    """Yield names and values of a query; a text without a name has an empty one."""
    for part in query.split("&"):
        yield from parse_qsl(part, keep_blank_values=True) if "=" in part else [("", part)]
